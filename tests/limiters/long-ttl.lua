-- A counter of ten windows: the search waits for its end all the same.
--
-- rlctl: limit 4/10s
-- rlctl: args {now_s}
--
-- $ rlctl adversary --tries 5000 long-ttl.lua
-- > long-ttl.lua 1.75× the limit: 7 within

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], 100) end
return count <= 4 and 1 or 0
