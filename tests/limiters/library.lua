#!lua name=limits
-- A library of functions has its own lines.
--
-- rlctl: allowed <=limit
--
-- $ rlctl lint library.lua

local function allow(keys)
  local count = redis.call('INCR', keys[1])  -- want: no-ttl critical
  return count
end
redis.register_function('allow', allow)
