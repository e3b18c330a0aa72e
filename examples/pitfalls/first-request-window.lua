-- INCR a counter, and EXPIRE it on the first request: a window that begins when somebody comes. In one
-- script, so that nothing comes between the two. Replies the count.
--
-- What goes wrong: it has no edge that all know, but it has one. Around the edge of a minute it looks
-- clean; who asks once, waits until the counter is about to expire and then asks for all that is left,
-- has a new counter right after: 19 pass within a second, against a limit of 10 in two.
--
-- It lives by its TTL, for which no virtual time passes: --clock real.
--
-- $ rlctl burst boundary --clock real --limit 10/2s \
--     --script first-request-window.lua --args '{window_s}' --allowed-when '<=limit' \
--     --algorithm sliding-window-log
-- > first-request-window.lua 20 10 10 10 1.00×
-- > sliding-window-log 20 10 10 10 1.00×
-- $ rlctl burst --replay first-request-window.log --clock real --limit 10/2s \
--     --script first-request-window.lua --args '{window_s}' --allowed-when '<=limit' \
--     --algorithm sliding-window-log
-- > first-request-window.lua 20 20 0 19 1.90×
-- > sliding-window-log 20 11 9 10 1.00×

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return count
