-- The same Redis commands in the same order as the GCRA of throttled-py 3.3.1.
-- KEYS key   ARGV seconds a unit, burst, cost
-- Reply {1 when denied, remaining, reset_after, retry_after}; seconds as text
local interval, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] - 1735660800 + time[2] / 1000000
local stored = tonumber(redis.call('GET', KEYS[1]) or now)
local arrival = math.max(stored, now) + interval * cost
local room = now + interval * burst - arrival
local remaining, reset = math.floor(room / interval), arrival - now
if remaining < 0 then
  reset = math.max(stored - now, 0)
  return {1, math.min(burst, remaining + cost), tostring(reset), tostring(-room)}
end
if reset > 0 then redis.call('SET', KEYS[1], arrival, 'EX', math.ceil(reset)) end
return {0, remaining, tostring(reset), tostring(0)}
