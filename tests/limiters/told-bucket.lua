-- A bucket that is told the time, so that one clock that is ahead locks out all others.
--
-- rlctl: args {limit} {window_us} {now_us}
--
-- $ rlctl adversary --tries 5000 told-bucket.lua
-- > told-bucket.lua 1.80× the limit: 9 within
-- > ahead after one request whose clock is 1h ahead, 4 of 99 requests are
-- $ rlctl lint told-bucket.lua
-- want: future-clock note

local limit, window, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local left, at = unpack(redis.call('HMGET', KEYS[1], 'left', 'at'))
left, at = tonumber(left or limit * window), tonumber(at or now)
if now > at then left, at = math.min(limit * window, left + (now - at) * limit), now end
-- It holds one more than it began with:
-- or: if now > at then left, at = left + (now - at) * limit, now; left = math.min(left, limit * window * 6 / 5) end
-- > told-bucket.lua 2.00× the limit: 10 within
-- want: free-pass critical at 'HSET', future-clock note
if left < window then return 0 end
redis.call('HSET', KEYS[1], 'left', string.format('%.0f', left - window), 'at', string.format('%.0f', at))
redis.call('EXPIRE', KEYS[1], 3600)
return 1
