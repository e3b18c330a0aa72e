-- The calls, arguments and reply of throttled-py's fixed window: whether it is limited, and the count.
--
-- rlctl: limit 5/60s
-- rlctl: keys {key}:period:{window_index}
-- rlctl: args {window_s} {limit} {cost}
-- rlctl: allowed r[1] == 0
--
-- $ rlctl adversary --monotonic --tries 2000 throttled_py_fixed.lua
-- > 2.00× the limit
-- > denied nothing that an exact log would allow

local period, limit, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local count = redis.call('INCRBY', KEYS[1], cost)
if count == cost then redis.call('EXPIRE', KEYS[1], period) end
return { count > limit and 1 or 0, count }
