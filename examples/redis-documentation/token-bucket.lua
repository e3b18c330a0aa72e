-- A bucket that each request takes a token from, and that gains tokens at fixed intervals. Replies 1 or
-- 0, and the tokens left. ARGV: the capacity, tokens for each interval, the interval, and the client's
-- time, both in seconds.
--
-- Taught by https://redis.io/docs/latest/develop/use-cases/rate-limiter/ for nine clients, and there by
-- https://redis.io/docs/latest/develop/use-cases/rate-limiter/redis-py/.
--
-- What goes wrong: the key has no TTL, so that it stays after its client has gone.

local key, capacity, refill, interval, now =
  KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local stored = redis.call('HMGET', key, 'tokens', 'since')
local tokens, since = tonumber(stored[1] or capacity), tonumber(stored[2] or now)
local intervals = math.max(0, math.floor((now - since) / interval))
tokens = math.min(capacity, tokens + intervals * refill)
local allowed = tokens >= 1 and 1 or 0
redis.call('HSET', key, 'tokens', tokens - allowed, 'since', since + intervals * interval)
return {allowed, tokens - allowed}
