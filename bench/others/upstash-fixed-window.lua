-- The same Redis commands in the same order as the fixed window of upstash/ratelimit-js 2.0.8.
-- KEYS counter of this window, key of a limit kept in Redis or ''
-- ARGV limit, window in ms, cost   Reply {count, limit}
local counter, elsewhere = KEYS[1], KEYS[2]
local limit, window, cost = tonumber(ARGV[1]), ARGV[2], ARGV[3]
if elsewhere ~= '' then limit = tonumber(redis.call('GET', elsewhere) or limit) end
local count = redis.call('INCRBY', counter, cost)
if tonumber(cost) == count then redis.call('PEXPIRE', counter, window) end
return {count, limit}
