-- A semaphore whose leases end by the clock of whoever asks.
--
-- rlctl: args {event} {limit} {lease_ms} {now_ms} {holder}
--
-- $ rlctl lint semaphore-by-caller.lua --concurrency 2 --lease 10s
-- want: holder-clock warning

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[4])
if ARGV[1] == 'release' then return redis.call('ZREM', KEYS[1], ARGV[5]) end
local has_lease = redis.call('ZSCORE', KEYS[1], ARGV[5])
if ARGV[1] == 'renew' and not has_lease then return 0 end
if not has_lease and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[4] + ARGV[3], ARGV[5])
return 1
