-- The calls, arguments and reply of throttled-py's GCRA: limited, remaining, reset, retry in float seconds.
--
-- rlctl: limit 5/60s
-- rlctl: args 12 {burst} {cost}
-- rlctl: allowed r[1] == 0
-- rlctl: remaining r[2]
-- rlctl: retry_after tonumber(r[4]) s
-- rlctl: reset_after tonumber(r[3]) s
--
-- $ rlctl adversary --monotonic --tries 2000 throttled_py_gcra.lua
-- > 1.80× the limit
-- > denied nothing that an exact log would allow

local interval, capacity, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = (time[1] - 1735660800) + time[2] / 1000000
local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local after = tat + interval * cost
local room = (now - (after - interval * capacity)) / interval
if room < 0 then return { 1, math.floor(room + cost), tostring(tat - now), tostring(-room * interval) } end
redis.call('SET', KEYS[1], after, 'EX', math.ceil(after - now))
return { 0, math.floor(room), tostring(after - now), '0' }
