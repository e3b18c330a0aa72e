-- A counter for each minute, under a key that contains the number of the minute. Replies true to deny
-- the request, else false.
--
-- What goes wrong: each minute starts at zero. Two requests at 10:01:59 and two by 10:02:01 pass a
-- limit of three a minute. A thousand at the end of a minute and a thousand at the start of the next
-- pass a limit of a thousand: 2000 within 20 ms.
--
-- rlctl: keys {key}:{window_index}
-- rlctl: args {limit} {window_s}
-- rlctl: allowed nil
--
-- $ rlctl burst boundary --limit 1000/60s minute-counter.lua sliding-window-log
-- ! every reply was nil
-- > minute-counter.lua 2000 2000 0 2000 2.00× 19.99 ms
-- > sliding-window-log 2000 1000 1000 1000 1.00×
-- $ rlctl burst --replay minute-counter.log --limit 3/60s minute-counter.lua \
--     sliding-window-log
-- ! every reply was nil
-- > minute-counter.lua 4 4 0 0.000 % 4 1.33× 2 s
-- > sliding-window-log 4 3 1 25.000 % 3 1.00×
-- $ rlctl lint minute-counter.lua --limit 3/60s

local key, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

local count = tonumber(redis.call('GET', key) or 0)
if count >= limit then return true end
redis.call('INCR', key)
redis.call('EXPIRE', key, window)
return false
