-- A lock that each candidate takes with GETSET, which drops the TTL that its holder has set.
--
-- rlctl: args {event} {lease_ms}
--
-- $ rlctl lint getset-lock.lua --concurrency 1 --lease 10s
-- want: endless-lease critical, too-many-leases critical

if ARGV[1] == 'release' then return redis.call('DEL', KEYS[1]) end
if ARGV[1] == 'acquire' and redis.call('GETSET', KEYS[1], '1') then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
