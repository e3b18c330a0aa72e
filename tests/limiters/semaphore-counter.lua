-- A counter that a release never makes negative. That of a holder whose lease has ended frees another's slot.
--
-- rlctl: args {event} {limit} {lease_ms}
--
-- $ rlctl lint semaphore-counter.lua --concurrency 2 --lease 10s
-- want: leaked-slot critical, frees-another critical

local count = tonumber(redis.call('GET', KEYS[1]) or 0)
if ARGV[1] == 'release' then return count > 0 and redis.call('DECR', KEYS[1]) or 0 end
if ARGV[1] == 'renew' or count >= tonumber(ARGV[2]) then return 0 end
redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
