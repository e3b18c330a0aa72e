-- A counter of free slots. A release after the key has expired writes it anew, without a TTL, and frees another's slot.
--
-- rlctl: args {event} {limit} {lease_ms}
--
-- $ rlctl lint semaphore-of-free.lua --concurrency 3 --lease 10s
-- > A slot that nobody has is still taken a year later
-- want: endless-lease critical, frees-another critical

if ARGV[1] == 'release' then return redis.call('INCR', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3])
if ARGV[1] == 'renew' or tonumber(redis.call('GET', KEYS[1])) <= 0 then return 0 end
redis.call('DECR', KEYS[1])
return 1
