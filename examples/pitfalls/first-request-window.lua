-- INCR a counter, and EXPIRE it on the first request: a window that begins when somebody comes. In one
-- script, so that nothing comes between the two. Replies the count.
--
-- What goes wrong: it has no edge that all know, but it has one. Around the edge of a minute it looks
-- clean; who asks once, waits until the counter is about to expire and then asks for all that is left,
-- has a new counter right after: 19 pass within a second, against a limit of 10 in two.
--
-- It lives by its TTL. Virtual time passes for that where a script is told the time: {now_ms}, which
-- this one ignores.
--
-- $ rlctl burst boundary --limit 10/2s \
--     --script first-request-window.lua --args '{window_s} {now_ms}' --allowed-when '<=limit' \
--     --algorithm sliding-window-log
-- > first-request-window.lua 20 10 10 10 1.00×
-- > sliding-window-log 20 10 10 10 1.00×
-- $ rlctl burst --replay first-request-window.log --limit 10/2s \
--     --script first-request-window.lua --args '{window_s} {now_ms}' --allowed-when '<=limit' \
--     --algorithm sliding-window-log
-- > first-request-window.lua 20 20 0 0.000 % 19 1.90×
-- > sliding-window-log 20 11 9 45.000 % 10 1.00×
-- $ rlctl burst adversary --limit 10/2s \
--     --script first-request-window.lua --args '{window_s} {now_ms}' --allowed-when '<=limit'
-- > first-request-window.lua 1.90× the limit: 19 within

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return count
