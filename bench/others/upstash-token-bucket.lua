-- The same Redis commands in the same order as the token bucket of upstash/ratelimit-js 2.0.8.
-- KEYS bucket, key of a limit kept in Redis or ''
-- ARGV burst, interval in ms, tokens an interval, now in ms, cost
-- Reply {tokens left, ms of the next filling, burst}; tokens are -1 when denied
local key, elsewhere = KEYS[1], KEYS[2]
local burst, interval, rate = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now, cost = tonumber(ARGV[4]), tonumber(ARGV[5])
if elsewhere ~= '' then burst = tonumber(redis.call('GET', elsewhere) or burst) end
local stored = redis.call('HMGET', key, 'refilledAt', 'tokens')
local filled, tokens = now, burst
if stored[1] then filled, tokens = tonumber(stored[1]), tonumber(stored[2]) end
if filled + interval <= now then
  local times = math.floor((now - filled) / interval)
  filled = filled + times * interval
  tokens = math.min(burst, tokens + times * rate)
end
if cost > 0 and tokens == 0 then return {-1, filled + interval, burst} end
tokens = tokens - cost
redis.call('HSET', key, 'refilledAt', filled, 'tokens', tokens)
local ttl = interval * math.ceil((burst - tokens) / rate)
if ttl > 0 then redis.call('PEXPIRE', key, ttl) end
return {tokens, filled + interval, burst}
