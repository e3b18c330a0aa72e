-- The calls, arguments and reply of redis_rate's AllowAtMost: takes fewer units if there are fewer.
--
-- rlctl: limit 5/60s
-- rlctl: args {burst} {limit} {window_s} {cost}
-- rlctl: allowed r[1] > 0
-- rlctl: remaining r[2]
-- rlctl: retry_after tonumber(r[3]) s
-- rlctl: reset_after tonumber(r[4]) s
--
-- $ rlctl adversary --monotonic --tries 2000 redis_rate_allow_at_most.lua
-- > 1.80× the limit
-- > denied nothing that an exact log would allow

redis.replicate_commands()
local burst, rate, period, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local interval = period / rate
local time = redis.call('TIME')
local now = (time[1] - 1483228800) + time[2] / 1000000
local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local room = (now - (tat - interval * burst)) / interval
if room < 1 then
  return { 0, 0, tostring((1 - room) * interval), tostring(tat - now) }
end
if room < cost then
  cost = room
  room = 0
else
  room = room - cost
end
local after = tat + interval * cost
redis.call('SET', KEYS[1], after, 'EX', math.ceil(after - now))
return { cost, room, '-1', tostring(after - now) }
