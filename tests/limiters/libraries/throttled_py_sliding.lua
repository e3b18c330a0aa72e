-- The calls, arguments and reply of throttled-py's sliding window: limited, used, and the retry.
--
-- rlctl: limit 5/60s
-- rlctl: keys {key}:{window_index} {key}:{prev_window_index}
-- rlctl: args {window_s} {limit} {cost} {now_ms}
-- rlctl: allowed r[1] == 0
-- rlctl: retry_after tonumber(r[3]) s
--
-- $ rlctl adversary --monotonic --tries 2000 throttled_py_sliding.lua
-- > 2.00× the limit
-- > wrongly denied: an exact log would allow

local period, limit, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local before = tonumber(redis.call('GET', KEYS[2]) or 0)
local current = tonumber(redis.call('GET', KEYS[1]) or 0)
local part = now % (period * 1000) / (period * 1000)
local used = math.floor((1 - part) * before) + current + cost
if used > limit then return { 1, used - cost, tostring((1 - part) * period) } end
redis.call('INCRBY', KEYS[1], cost)
redis.call('EXPIRE', KEYS[1], 3 * period)
return { 0, used, '0' }
