-- The times of the requests that were allowed, in a sorted set: a sound log, and its flaws.
--
-- rlctl: args {now_ms} {window_ms} {limit} {id}
--
-- $ rlctl lint log.lua

local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
-- Seconds for milliseconds:
-- or: redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window / 1000)  -- want: mixed-units critical
-- ! units were allowed within 60 s, more than twice 5
-- or: redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, redis.call('TIME')[1] - 60)  -- want: mixed-units critical
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[4])
redis.call('PEXPIRE', KEYS[1], window)
-- or: redis.call('PEXPIREAT', KEYS[1], now + window)
-- Forgotten too early; the last one ends with a window of the clock by chance:
-- or: redis.call('PEXPIRE', KEYS[1], window / 4)  -- want: short-ttl critical
-- ! 19 units were allowed within 60 s, more than twice 5
-- or: redis.call('PEXPIRE', KEYS[1], window - 1000)  -- want: short-ttl critical
-- or: redis.call('EXPIRE', KEYS[1], 57)  -- want: short-ttl critical
-- Seconds for milliseconds, or the reverse:
-- or: redis.call('EXPIRE', KEYS[1], window)  -- want: mixed-units critical
-- or: redis.call('PEXPIRE', KEYS[1], 60)  -- want: mixed-units critical
-- ! units were allowed within 60 s, more than twice 5
-- or: redis.call('EXPIREAT', KEYS[1], now + window)  -- want: mixed-units critical
return 1
