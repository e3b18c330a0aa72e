-- The reply of redis-cell's CL.THROTTLE: limited, limit, remaining, retry and reset in seconds.
--
-- rlctl: limit 5/60s
-- rlctl: args 4 {limit} {window_s} {cost}
-- rlctl: allowed r[1] == 0
-- rlctl: remaining r[3]
-- rlctl: retry_after r[4] s
-- rlctl: reset_after r[5] s
--
-- $ rlctl adversary --monotonic --tries 2000 redis_cell.lua
-- > 1.80× the limit
-- > denied nothing that an exact log would allow

local burst, count, period, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval = math.floor(period * 1000000 / count)
local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
local after = tat + interval * cost
local early = after - interval * (burst + 1) - now
if early > 0 then
  local retry = cost > burst + 1 and -1 or math.ceil(early / 1000000)
  return { 1, burst + 1, math.floor((interval * (burst + 1) - (tat - now)) / interval), retry,
           math.ceil((tat - now) / 1000000) }
end
redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
return { 0, burst + 1, math.floor((interval * (burst + 1) - (after - now)) / interval), -1,
         math.ceil((after - now) / 1000000) }
