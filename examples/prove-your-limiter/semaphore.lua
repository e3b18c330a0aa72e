-- A semaphore: a sorted set of the holders, scored by when their leases end, by the server's clock.
-- KEYS: the semaphore. ARGV: acquire, renew or release; the number of leases; a lease in ms; the holder.
local key, event, limit, lease, holder = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
if event == 'release' then return redis.call('ZREM', key, holder) end
local has_lease = redis.call('ZSCORE', key, holder)
if event == 'renew' and not has_lease then return 0 end
if not has_lease and redis.call('ZCARD', key) >= limit then return 0 end
redis.call('ZADD', key, now + lease, holder)
redis.call('PEXPIRE', key, lease)
return 1
