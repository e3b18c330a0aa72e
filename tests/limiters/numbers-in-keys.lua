local limit = tonumber(ARGV[1] or KEYS[2])  -- want: cross-slot warning (1)
-- A limit among KEYS, which no command uses as a key: a Cluster refuses the call all the same.
--
-- $ rlctl lint numbers-in-keys.lua --keys '{key}' --keys '{limit}'
-- $ rlctl lint numbers-in-keys.lua --args '{limit}'

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end
return count <= limit and 1 or 0
