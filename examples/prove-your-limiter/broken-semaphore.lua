-- The same semaphore, but a release removes the lease that ends first, whoever has it.
-- KEYS and ARGV: as in semaphore.lua.
local key, event, limit, lease, holder = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
if event == 'release' then return #redis.call('ZPOPMIN', key) end
local has_lease = redis.call('ZSCORE', key, holder)
if event == 'renew' and not has_lease then return 0 end
if not has_lease and redis.call('ZCARD', key) >= limit then return 0 end
redis.call('ZADD', key, now + lease, holder)
redis.call('PEXPIRE', key, lease)
return 1
