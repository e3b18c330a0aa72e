-- A counter for each second, under a key that contains the second. Replies the count with this request.
-- ARGV: the TTL in seconds.
--
-- Taught by https://redis.io/docs/latest/commands/incr/ and https://valkey.io/commands/incr/, as the
-- first of two patterns: INCR and EXPIRE in a transaction, ten requests a second, a TTL of ten seconds.
--
-- What goes wrong: the next second does not count the requests of the last one.

local count = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[1])
return count
