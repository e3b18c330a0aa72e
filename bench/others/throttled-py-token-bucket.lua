-- The same Redis commands in the same order as the token bucket of throttled-py 3.3.1.
-- KEYS bucket   ARGV tokens a second, burst, cost   Reply {1 when denied, else nil, tokens}
local rate, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(redis.call('TIME')[1])
local stored = redis.call('HMGET', KEYS[1], 'tokens', 'last_refreshed')
local tokens, filled = burst, now
if stored[1] then tokens, filled = tonumber(stored[1]), tonumber(stored[2]) end
tokens = math.min(burst, tokens + math.floor(rate * math.max(0, now - filled)))
local denied = tokens < cost
if not denied then
  tokens = tokens - cost
  redis.call('HSET', KEYS[1], 'tokens', tokens, 'last_refreshed', now)
  redis.call('EXPIRE', KEYS[1], math.floor(burst / rate * 2))
end
return {denied, tokens}
