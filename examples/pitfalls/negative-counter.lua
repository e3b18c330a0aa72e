-- A semaphore that is a counter: an acquire adds one if there is room, a release subtracts one.
--
-- What goes wrong: a release that comes twice, from a retry or a `finally` block, subtracts twice, and so
-- does that of a client that was denied. The counter becomes negative, and more hold than the limit allows.
-- A client that dies never subtracts: its slot is lost for good.
--
-- rlctl: args {event} {limit}
--
-- $ rlctl adversary --concurrency 2 --lease 10s negative-counter.lua concurrency
-- ! passes for negative-counter.lua: it calls neither
-- > 3 held at once, 1 more than the limit
-- > 2 slots lost: nobody has them, and nobody gets them, not even a year later
-- > concurrency at most 2 of 2 held at once, no slot lost
-- $ rlctl lint negative-counter.lua --concurrency 2 --lease 10s
-- want: endless-lease critical, frees-another critical

local key, event, limit = KEYS[1], ARGV[1], tonumber(ARGV[2])

if event == 'release' then return redis.call('DECR', key) end
if event == 'renew' then return 0 end
if tonumber(redis.call('GET', key) or 0) >= limit then return 0 end
redis.call('INCR', key)
return 1
