-- A log that counts by time, so that its answers are right whatever it stores.
--
-- rlctl: args {now_ms} {window_ms} {limit} {id}
--
-- $ rlctl lint never-pruned.lua

local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
-- Nothing leaves it while its client keeps asking:
-- or: -- want: never-pruned warning at 'ZADD'
-- Only a request of just a minute ago leaves it:
-- or: redis.call('ZREMRANGEBYSCORE', KEYS[1], now - window, now - window)  -- want: never-pruned warning at 'ZADD'
-- A thousand requests are kept, or those of a day:
-- or: redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1001)
-- or: redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - 86400000)
if redis.call('ZCOUNT', KEYS[1], '(' .. now - window, '+inf') >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[4])
redis.call('PEXPIRE', KEYS[1], window)
return 1
