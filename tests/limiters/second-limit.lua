-- A second, longer limit, which denies a client that keeps asking by what it was allowed, not by what was denied.
--
-- rlctl: limit 5/60s
-- rlctl: keys {{key}}:minute {{key}}:half-hour
--
-- $ rlctl lint second-limit.lua
-- ! not tested: retries: a client that asks each
-- ! not tested: requests below the limit: one was denied, and so is a client that then sends nothing
-- [3]

local minute = tonumber(redis.call('GET', KEYS[1]) or 0)
local half_hour = tonumber(redis.call('GET', KEYS[2]) or 0)
if half_hour >= 20 or minute >= 5 then return 0 end
if redis.call('INCR', KEYS[1]) == 1 then redis.call('EXPIRE', KEYS[1], 60) end
if redis.call('INCR', KEYS[2]) == 1 then redis.call('EXPIRE', KEYS[2], 1800) end
return 1
