-- A reply whose verdict is its fourth element: {limit, remaining, reset as a time in ms, allowed}.
--
-- rlctl: limit 5/60s
-- rlctl: args {now_ms} {window_ms} {limit}
-- rlctl: allowed r[4] == 1
-- rlctl: remaining r[2]
-- rlctl: reset_after r[3] - now_ms ms
--
-- $ rlctl adversary --monotonic --tries 2000 goredisstore.lua
-- > 2.00× the limit
-- > denied nothing that an exact log would allow

local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local start = now - now % window
local key = KEYS[1] .. ':' .. string.format('%.0f', start)
local count = redis.call('INCR', key)
redis.call('PEXPIREAT', key, string.format('%.0f', start + window))
return { limit, math.max(0, limit - count), start + window, count <= limit }
