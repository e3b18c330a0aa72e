-- The same Redis commands in the same order as the sliding window of upstash/ratelimit-js 2.0.8.
-- KEYS counters of this window and the one before, key of a limit kept in Redis or ''
-- ARGV limit, now and window in ms, cost   Reply {remaining, limit}; remaining is -1 when denied
local this, before, elsewhere = KEYS[1], KEYS[2], KEYS[3]
local limit, now, window, cost = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
if elsewhere ~= '' then limit = tonumber(redis.call('GET', elsewhere) or limit) end
local count = redis.call('GET', this) or 0
local carried = redis.call('GET', before) or 0
carried = math.floor((1 - now % window / window) * carried)
if cost > 0 and count + carried >= limit then return {-1, limit} end
count = redis.call('INCRBY', this, cost)
if count == cost then redis.call('PEXPIRE', this, 1000 + 2 * window) end
return {limit - count - carried, limit}
