-- A counter whose TTL SET drops at the second request, so that it never ends.
--
-- rlctl: args {window_ms}
-- rlctl: allowed <=limit
--
-- $ rlctl lint loses-ttl.lua

local count = tonumber(redis.call('GET', KEYS[1]) or 0) + 1
if count == 1 then
  redis.call('SET', KEYS[1], count, 'PX', ARGV[1])
else
  redis.call('SET', KEYS[1], count)  -- want: no-ttl critical
end
return count
