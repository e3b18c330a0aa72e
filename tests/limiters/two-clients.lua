-- A counter of each client, and what becomes of it if clients or requests are mistaken for others.
--
-- $ rlctl lint two-clients.lua --args '{limit} {window_ms} {key}'
-- > no findings in 1 script
-- $ rlctl lint two-clients.lua --keys 'service' --args '{limit} {window_ms} {key}'
-- > if the limit is for each client, put {key} into each of --keys
-- $ rlctl lint two-clients.lua --keys 'service' --args '{limit} {window_ms}'
-- > no findings in 1 script
-- want: shared-limit note (2)

local limit = tonumber(ARGV[1])
-- One request too many, and one too few:
-- or: local limit = tonumber(ARGV[1]) + 1  -- want: wrong-limit critical
-- or: local limit = tonumber(ARGV[1]) - 1  -- want: wrong-limit critical
-- ! requests below the limit
local used = tonumber(redis.call('GET', KEYS[1]) or 0)
if used >= limit then return 0 end
if redis.call('INCR', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
