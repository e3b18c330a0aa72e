-- A counter that is forgotten after a tenth of the window: the search waits for its TTL as often as there is room.
--
-- rlctl: limit 4/50s
-- rlctl: args {limit} 5000
--
-- $ rlctl adversary forgetful-counter.lua
-- > 10.00× the limit: 40 within

local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return count <= tonumber(ARGV[1]) and 1 or 0
