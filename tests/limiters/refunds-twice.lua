-- Each refund makes room twice.
--
-- rlctl: limit 1/60s
-- rlctl: args {limit} {cost} {now_us}
--
-- $ rlctl adversary --tries 2000 --cost 1,-1 refunds-twice.lua
-- > 8.00× the limit

local cost = tonumber(ARGV[2])
local used = redis.call('INCRBY', KEYS[1], cost > 0 and cost or 2 * cost)
if cost < 0 or used <= tonumber(ARGV[1]) then return 1 end
redis.call('DECRBY', KEYS[1], cost)
return 0
