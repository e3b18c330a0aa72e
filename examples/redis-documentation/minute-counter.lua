-- A counter for each minute, under a key that contains the minute. Replies 1 or 0. ARGV: the limit.
--
-- Taught by https://redis.com/redis-best-practices/basic-rate-limiting/: GET, compare with a limit of
-- twenty, then INCR and EXPIRE with 59 seconds in a transaction. Here one script does them all, so that
-- no other client comes between.
--
-- What goes wrong: a counter from the start of a minute ends a second before that minute does. The rest
-- of the minute gets a new one, and so does the next minute.

local key, limit = KEYS[1], tonumber(ARGV[1])

if tonumber(redis.call('GET', key) or 0) >= limit then return 0 end
redis.call('INCR', key)
redis.call('EXPIRE', key, 59)
return 1
