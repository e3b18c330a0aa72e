-- A log that is exact in the unit of the time that it is told; what only rounding lets through is told apart.
--
-- $ rlctl adversary --tries 5000 rounded-times.lua \
--     --args '{now_ms} {window_ms} {limit} {id}' --assert 'worst<=1'
-- > rounded-times.lua never above the limit, but for rounding
-- > rounding 10 within 59.9991 s, which a clock of 1 ms, as in {now_ms}, cannot
-- ! the assertions ignore what rounding explains: 10 within 59.9991 s
-- > denied nothing that an exact log would allow
-- $ rlctl adversary --tries 5000 --limit 5/10m rounded-times.lua \
--     --args '{now_s} {window_s} {limit} {id}'
-- > rounded-times.lua never above the limit, but for rounding
-- > rounding 10 within 599.1 s, which a clock of 1 s, as in {now_s}, cannot tell
-- A clock that is coarse for the window is no excuse:
-- $ rlctl adversary --tries 5000 rounded-times.lua --args '{now_s} {window_s} {limit} {id}'
-- > rounded-times.lua 2.00× the limit: 10 within 59.1 s

local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[4])
redis.call('EXPIRE', KEYS[1], 3600)
return 1
