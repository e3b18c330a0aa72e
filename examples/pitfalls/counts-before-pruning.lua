-- Record the request, count, and then remove old requests. Members are unique here.
--
-- What goes wrong: the count includes requests that have left the window. With a limit of one a
-- second, a client that sends one request every two seconds is denied every time except the first. A
-- TTL as long as the window would hide this unless a client sends requests more often.
--
-- rlctl: limit 1/1s
-- rlctl: args {now_ms} {window_ms} {limit} {id}
--
-- $ rlctl burst steady --rate 30/min --requests 6 counts-before-pruning.lua sliding-window-log
-- > counts-before-pruning.lua 6 1 5
-- > sliding-window-log 6 6 0
-- $ rlctl lint counts-before-pruning.lua
-- ! not tested: requests below the limit: they were denied, but so was a client

local key, now, window, limit = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local id = ARGV[4]

redis.call('ZADD', key, now, id)
local count = redis.call('ZCARD', key) -- want: late-pruning critical
redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
redis.call('PEXPIRE', key, 10 * window)
return count <= limit
