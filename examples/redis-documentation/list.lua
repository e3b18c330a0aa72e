-- A list with an entry for each request, which lasts for a second from the first one. Replies 1 or 0.
-- ARGV: the limit.
--
-- Taught by https://redis.io/docs/latest/commands/incr/ and https://valkey.io/commands/incr/, as the
-- last variant of their second pattern, in separate commands. Here one script does them all, so that no
-- other client comes between.
--
-- What goes wrong: the length is compared before the request is in the list. When the limit is reached,
-- it is not yet exceeded, and one more request passes. The variant with GET and INCR makes the same
-- comparison.

local key, limit = KEYS[1], tonumber(ARGV[1])

if redis.call('LLEN', key) > limit then return 0 end
if redis.call('RPUSH', key, 'request') == 1 then redis.call('EXPIRE', key, 1) end
return 1
