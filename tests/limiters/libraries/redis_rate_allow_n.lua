-- The calls, arguments and reply of redis_rate's AllowN: a tat in float seconds since 2017.
--
-- rlctl: args {burst} {limit} {window_s} {cost}
-- rlctl: allowed r[1] > 0
-- rlctl: remaining r[2]
-- rlctl: retry_after tonumber(r[3]) s
-- rlctl: reset_after tonumber(r[4]) s
--
-- $ rlctl adversary --monotonic --tries 2000 --limit 5/60s redis_rate_allow_n.lua
-- > 1.80× the limit
-- > denied nothing that an exact log would allow
-- $ rlctl adversary --monotonic --tries 2000 --limit 10/1s redis_rate_allow_n.lua
-- ! denied after 9 requests, not 10: its own limit differs
-- > 1.90× the limit
-- > wrongly denied: an exact log would allow

redis.replicate_commands()
local burst, rate, period, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local interval = period / rate
local time = redis.call('TIME')
local now = (time[1] - 1483228800) + time[2] / 1000000
local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local after = tat + interval * cost
local room = (now - (after - interval * burst)) / interval
if room < 0 then
  return { 0, 0, tostring(-room * interval), tostring(tat - now) }
end
if after > now then
  redis.call('SET', KEYS[1], after, 'EX', math.ceil(after - now))
end
return { cost, room, '-1', tostring(after - now) }
