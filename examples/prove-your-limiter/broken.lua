-- limiter.lua with one fault: it counts whole seconds. A request at 0.9 s is taken for one at 0 s, and leaves
-- the window 0.9 s too early.
local key, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000
local time = redis.call('TIME')
local now = time[1] * 1000000

-- If the clock was set back, time stands still.
now = math.max(now, tonumber(redis.call('LINDEX', key, -1) or 0))

local oldest = redis.call('LINDEX', key, 0)
while oldest and tonumber(oldest) <= now - window do
  redis.call('LPOP', key)
  oldest = redis.call('LINDEX', key, 0)
end

local count = redis.call('LLEN', key)
if count >= limit then
  return {0, 0, math.ceil((oldest + window - now) / 1000)}
end
redis.call('RPUSH', key, string.format('%.0f', now))
-- A second more than the window: then it does not matter when exactly the key expires.
redis.call('PEXPIRE', key, ARGV[2] + 1000)
return {1, limit - count - 1, 0}
