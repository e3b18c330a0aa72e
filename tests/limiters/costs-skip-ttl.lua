-- A counter of costs, which sets its TTL if the first request costs one. A denied request takes what was left.
--
-- rlctl: allowed <=limit
--
-- $ rlctl lint costs-skip-ttl.lua --args '{cost} {window_s}'
-- $ rlctl lint costs-skip-ttl.lua --args '{cost} {window_s}' --head 'cost 1,3'
-- $ rlctl lint costs-skip-ttl.lua --args '{cost} {window_s}' --head 'cost 1'
-- $ rlctl lint costs-skip-ttl.lua --args '1 {window_s}' --head 'cost 1,3'
-- ! costs-skip-ttl.lua is not given the cost of a request
-- ! hint: add {cost} to args
-- [3]

local used = redis.call('INCRBY', KEYS[1], ARGV[1])  -- want: no-ttl critical (1 2), wrong-cost critical (1 2)
if used == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return used
