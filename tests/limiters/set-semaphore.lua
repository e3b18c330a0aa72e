-- A set of holders, which other scripts release: nothing ends the lease of a holder that has died.
--
-- rlctl: args {limit} {holder}
--
-- $ rlctl lint set-semaphore.lua --head 'release set-release.lua' --concurrency 2 --lease 10s
-- $ rlctl lint set-semaphore.lua --head 'release set-release-any.lua' --concurrency 2 --lease 10s
-- want: endless-lease critical, frees-another critical (2)

if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('SADD', KEYS[1], ARGV[2])
return 1
