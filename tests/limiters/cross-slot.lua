-- Two keys, which a Cluster has in two places, unless they have a hash tag.
--
-- $ rlctl lint cross-slot.lua --keys 'count:{key}' --keys 'last:{key}' --allowed-when '<=limit'
-- $ rlctl lint cross-slot.lua --keys 'count:{{key}}' --keys 'last:{{key}}' --allowed-when '<=limit'

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end
redis.call('SET', KEYS[2], count, 'PX', 60000)  -- want: cross-slot warning (1)
return count
