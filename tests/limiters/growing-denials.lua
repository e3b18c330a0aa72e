-- Denials are kept in a list that nothing trims, whose numbers take few bytes beside the list itself.
--
-- rlctl: limit 5/60s
-- rlctl: keys {{key}}:count {{key}}:denied
-- rlctl: args {now_ms}
--
-- $ rlctl lint growing-denials.lua

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], 60) end
if count <= 5 then return 1 end
redis.call('RPUSH', KEYS[2], ARGV[1])  -- want: never-pruned warning
redis.call('EXPIRE', KEYS[2], 3600)
return 0
