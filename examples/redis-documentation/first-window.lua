-- A counter that its first request creates, and whose TTL ends the window. Replies 1 or 0, and the time
-- until the window ends, in milliseconds. ARGV: the limit, the window in seconds.
--
-- Taught by https://redis.io/docs/latest/commands/incr/ and https://valkey.io/commands/incr/, as the
-- script of their second pattern, which replies nothing; and, with the time as the wait, by
-- https://redis.io/docs/latest/develop/use-cases/rate-limiter/redis-py/ as the fixed window counter.
--
-- What goes wrong: each client has an edge of its own, and chooses when it comes.

local key, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

local count = redis.call('INCR', key)
if count == 1 then redis.call('EXPIRE', key, window) end
return {count <= limit and 1 or 0, redis.call('PTTL', key)}
