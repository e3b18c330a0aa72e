-- Members with the time, of which '..' writes only 14 digits: microseconds are cut off, milliseconds are not.
--
-- $ rlctl lint time-as-text.lua --args '{now_us} {window_us} {id}'
-- $ rlctl lint time-as-text.lua --args '{now} {window} {id}'
-- $ rlctl lint time-as-text.lua --args '{now_ms} {window_ms} {id}'

local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
if redis.call('ZCARD', KEYS[1]) >= 5 then return 0 end
redis.call('ZADD', KEYS[1], now, now .. ':' .. ARGV[3])  -- want: number-as-text warning (1 2)
redis.call('PEXPIRE', KEYS[1], 60000)
return 1
