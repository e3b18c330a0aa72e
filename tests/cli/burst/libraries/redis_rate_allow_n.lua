-- The calls, arguments and reply of redis_rate's AllowN: a tat in float seconds since 2017.
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
