-- The calls, arguments and reply of throttled-py's fixed window: whether it is limited, and the count.
local period, limit, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local count = redis.call('INCRBY', KEYS[1], cost)
if count == cost then redis.call('EXPIRE', KEYS[1], period) end
return { count > limit and 1 or 0, count }
