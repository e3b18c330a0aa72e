-- A sliding window: allows ARGV[1] requests within any ARGV[2] ms. KEYS[1] is a list of the times, in
-- microseconds, at which requests were allowed. Replies {allowed, remaining, retry_after in ms}.
local key, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

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
