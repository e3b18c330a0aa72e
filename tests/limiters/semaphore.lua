-- A semaphore that is a sorted set of its holders, by the ends of their leases.
--
-- rlctl: args {event} {limit} {lease_ms} {holder}
--
-- $ rlctl lint semaphore.lua --concurrency 2 --lease 10s
-- > holders that die
-- > renewals, also after the lease had ended
-- > rlctl adversary
-- $ rlctl adversary --concurrency 1 --lease 10s --exhaustive 3 semaphore.lua
-- > proof no schedule of up to 3 events
-- > at most 1 of 1 held at once, no slot lost

local event, limit, lease, holder = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
-- Dead members stay, while others come, or for ever:
-- or: -- want: leaked-slot critical
-- or: redis.call('PERSIST', KEYS[1])  -- want: endless-lease critical
-- > 1 slot lost
if event == 'release' then return redis.call('ZREM', KEYS[1], holder) end
-- The release of another's slot:
-- or: if event == 'release' then return #redis.call('ZPOPMIN', KEYS[1]) end
-- want: frees-another critical, leaked-slot critical
-- > 2 held at once, 1 more than the limit
if event == 'renew' and not redis.call('ZSCORE', KEYS[1], holder) then return 0 end
if event == 'acquire' and redis.call('ZCARD', KEYS[1]) >= limit then return 0 end
redis.call('ZADD', KEYS[1], now + lease, holder)
-- Half a lease:
-- or: redis.call('ZADD', KEYS[1], now + lease / 2, holder)  -- want: too-many-leases critical
-- > 2 held at once, 1 more than the limit
redis.call('PEXPIRE', KEYS[1], lease)
-- The TTL of the first member:
-- or: if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], lease) end
-- want: too-many-leases critical
return 1
