-- A semaphore that is a set of its holders: each has a name, so that a release that comes twice removes
-- nothing more. The key has a TTL.
--
-- What goes wrong: the TTL belongs to the set, not to a member, and each acquire renews it. While others
-- come and go, the member of a client that has died stays, and its slot is lost.
--
-- rlctl: args {event} {limit} {lease_ms} {holder}
--
-- $ rlctl adversary --concurrency 2 --lease 10s dead-members.lua concurrency
-- > 1 slot lost: nobody has it, and nobody gets it
-- > concurrency at most 2 of 2 held at once, no slot lost
-- $ rlctl lint dead-members.lua --concurrency 2 --lease 10s
-- want: leaked-slot critical

local key, event, limit, lease, holder = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

if event == 'release' then return redis.call('SREM', key, holder) end
if event == 'renew' and redis.call('SISMEMBER', key, holder) == 0 then return 0 end
if event == 'renew' then return redis.call('PEXPIRE', key, lease) end
if redis.call('SCARD', key) >= limit then return 0 end
redis.call('SADD', key, holder)
redis.call('PEXPIRE', key, lease)
return 1
