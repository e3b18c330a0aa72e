-- A lock with a TTL, so that one whose holder dies is free again after its lease. A release deletes the key.
--
-- What goes wrong: the release does not look whose lock it is. A holder that took longer than its lease
-- deletes the lock of the next one, and a third gets in while the second works. Here, work takes 12 seconds.
--
-- rlctl: args {event} {lease_ms} {holder}
--
-- $ rlctl burst steady --rate 1/s --duration 60s --concurrency 1 --lease 10s --hold 12s frees-the-next.lua \
--     concurrency
-- > frees-the-next.lua 60 10 50 2 of 1
-- > concurrency 60 6 54 1 of 1
-- $ rlctl adversary --concurrency 1 --lease 10s frees-the-next.lua concurrency
-- > frees-the-next.lua 2 held at once, 1 more than the limit
-- > concurrency at most 1 of 1 held at once, no slot lost
-- $ rlctl lint frees-the-next.lua --concurrency 1 --lease 10s
-- want: frees-another critical

local key, event, lease, holder = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

if event == 'release' then return redis.call('DEL', key) end
if event == 'renew' and redis.call('GET', key) ~= holder then return 0 end
if event == 'renew' then return redis.call('PEXPIRE', key, lease) end
return redis.call('SET', key, holder, 'NX', 'PX', lease) and 1 or 0
