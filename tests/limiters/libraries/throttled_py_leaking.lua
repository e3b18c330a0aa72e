-- The calls, arguments and reply of throttled-py's leaking bucket, which leaks each whole second.
--
-- rlctl: limit 10/1s
-- rlctl: args {rate} {burst} {cost}
-- rlctl: allowed r[1] == 0
-- rlctl: remaining r[2]
--
-- $ rlctl adversary --monotonic --tries 2000 throttled_py_leaking.lua
-- > 2.00× the limit
-- > denied nothing that an exact log would allow

local rate, capacity, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(redis.call('TIME')[1])
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'last_refreshed')
local level, refreshed = tonumber(bucket[1] or 0), tonumber(bucket[2] or now)
level = math.max(0, level - math.max(0, now - refreshed) * rate)
if level + cost > capacity then return { 1, math.floor(capacity - level) } end
redis.call('HSET', KEYS[1], 'tokens', level + cost, 'last_refreshed', now)
redis.call('EXPIRE', KEYS[1], math.ceil(2 * capacity / rate))
return { 0, math.floor(capacity - level - cost) }
