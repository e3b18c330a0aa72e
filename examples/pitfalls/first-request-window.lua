-- INCR a counter, and EXPIRE it on the first request: the window begins with the first request. One
-- script does both, so that nothing comes between them. Replies the count.
--
-- What goes wrong: the window still has an edge, one for each client. The edge of a minute shows
-- nothing. But a client that sends one request, waits until the counter is about to expire, and then
-- sends all that are left, gets a new counter right after: 19 requests pass within a second, against a
-- limit of 10 in two seconds.
--
-- The script decides by its TTL. Virtual time passes for TTLs only if a script gets the time: this one
-- gets {now_ms} and ignores it.
--
-- rlctl: limit 10/2s
-- rlctl: args {window_s} {now_ms}
-- rlctl: allowed <=limit
--
-- $ rlctl burst boundary first-request-window.lua \
--     sliding-window-log
-- > first-request-window.lua 20 10 10 10 1.00×
-- > sliding-window-log 20 10 10 10 1.00×
-- $ rlctl burst --replay first-request-window.log first-request-window.lua \
--     sliding-window-log
-- > first-request-window.lua 20 20 0 0.000 % 19 1.90×
-- > sliding-window-log 20 11 9 45.000 % 10 1.00×
-- $ rlctl adversary first-request-window.lua
-- > first-request-window.lua 1.90× the limit: 19 within
-- $ rlctl lint first-request-window.lua --args '{window_s}'
-- > rlctl adversary first-request-window.lua --args '{window_s}'

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return count
