-- A counter for each five seconds: INCR, and a TTL of six seconds if it is new. Replies the count.
--
-- What goes wrong: people call this a rolling window, but it is not. Around the edge of two windows, 20
-- requests pass within 20 ms, against a limit of 10 in 5 s.
--
-- rlctl: limit 10/5s
-- rlctl: keys {key}:{window_index}
-- rlctl: allowed <=limit
--
-- $ rlctl burst boundary five-second-counter.lua sliding-window-log
-- > five-second-counter.lua 20 20 0 20 2.00× 19 ms
-- > sliding-window-log 20 10 10 10 1.00×
-- $ rlctl lint five-second-counter.lua

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], 6) end
return count
