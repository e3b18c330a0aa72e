-- Remove old requests, record this one, count. Members are unique, and the order is right.
--
-- What goes wrong: the script records denied requests too. A client that keeps trying once a second,
-- against a limit of five a minute, never gets back in: in ten minutes 5 of its requests pass instead
-- of 50.
--
-- rlctl: args {now_ms} {window_ms} {id}
-- rlctl: allowed <=limit
--
-- $ rlctl burst steady --limit 5/60s --rate 1/s --duration 10m records-denials.lua \
--     sliding-window-log
-- > records-denials.lua 600 5 595
-- > sliding-window-log 600 50 550 5 1.00×
-- $ rlctl lint records-denials.lua

local key, now, window, id = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
redis.call('ZADD', key, now, id) -- want: denied-write critical
redis.call('PEXPIRE', key, window)
return redis.call('ZCARD', key)
