-- A counter of costs, and what becomes of requests that cost nothing, more than is left, or less than nothing.
--
-- rlctl: args {limit} {window_ms} {cost}
--
-- $ rlctl lint costs.lua
-- > no findings in 1 script
-- > costs of 0, of more than is left, and above the limit, unless an error
-- > rlctl adversary costs.lua --limit 5/60s --cost 1,5
-- $ rlctl lint costs.lua --head 'cost 0,1,-2'
-- > --head 'cost 0,1,-2'
-- $ rlctl lint costs.lua --head 'cost 1'
-- $ rlctl lint costs.lua --head 'cost 0,-1'
-- ! cost 0,-1: at least one cost must be above 0
-- ! hint: for example: 1,0,-1
-- [3]
-- $ rlctl adversary --tries 2000 --cost 0,1 costs.lua
-- > denied exactly one window after

local limit = tonumber(ARGV[1])
local cost = tonumber(ARGV[3])
-- An error refuses a cost, and is not a flaw:
-- or: local cost = tonumber(ARGV[3]) if cost < 1 or cost > limit then return redis.error_reply('COST ' .. cost) end
-- A request costs at least 1, or always:
-- or: local cost = math.max(tonumber(ARGV[3]), 1)  -- want: wrong-cost note (1 2)
-- or: local cost = 1  -- want: ignored-cost note (1 2)
local used = tonumber(redis.call('GET', KEYS[1]) or 0)
local allowed = used + cost <= limit
-- Whoever has a unit left takes any cost:
-- or: local allowed = used < limit  -- want: wrong-cost critical (1 2)
-- A denied request takes what was left:
-- or: local allowed = used + cost <= limit; if not allowed and used > 0 then redis.call('INCRBY', KEYS[1], cost) end
-- want: wrong-cost critical (1 2)
-- A cost above the limit is let through:
-- or: local allowed = used + cost <= limit or cost > limit  -- want: wrong-cost critical (1 2)
-- A look is denied at a full limit, which is not a flaw:
-- or: local allowed = used < limit and used + cost <= limit
if not allowed then return 0 end
redis.call('INCRBY', KEYS[1], math.max(cost, 0 - used))
-- The count falls below 0:
-- or: redis.call('INCRBY', KEYS[1], cost)  -- want: wrong-cost critical (2)
local is_new = redis.call('PTTL', KEYS[1]) < 0
-- A look renews the window:
-- or: local is_new = redis.call('PTTL', KEYS[1]) < 0 or cost == 0  -- want: wrong-cost critical (1 2)
if is_new then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
