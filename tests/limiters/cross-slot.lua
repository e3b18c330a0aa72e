-- Two keys, which a Cluster has in two places, unless they have a hash tag.
--
-- rlctl: allowed <=limit
--
-- $ rlctl lint cross-slot.lua --keys 'count:{key}' --keys 'last:{key}'
-- $ rlctl lint cross-slot.lua --keys 'count:{{key}}' --keys 'last:{{key}}'

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end
redis.call('SET', KEYS[2], count, 'PX', 60000)  -- want: cross-slot warning (1)
return count
