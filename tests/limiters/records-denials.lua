-- Denied requests are recorded too, so that a client which keeps trying is never let in again.
--
-- rlctl: args {now_ms} {window_ms} {limit} {id}
--
-- $ rlctl lint records-denials.lua
-- $ rlctl lint records-denials.lua --limit 20/1s

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1] - ARGV[2])
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])  -- want: denied-write critical
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1]) <= tonumber(ARGV[3]) and 1 or 0
