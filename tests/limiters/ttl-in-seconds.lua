-- A log whose TTL alone is in another unit; its times are all milliseconds.
--
-- rlctl: args {limit} {cutoff_ms} {now_ms} {id} {window_s}
--
-- $ rlctl lint ttl-in-seconds.lua

redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[5])  -- want: mixed-units critical
return 1
