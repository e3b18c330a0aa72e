-- A client above its limit is banned for half a window. Retries during the ban do not count.
--
-- rlctl: limit 5/10s
-- rlctl: keys {{key}}:n {{key}}:ban
-- rlctl: args {window_ms} {limit}
--
-- $ rlctl lint ban.lua

if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
if n > tonumber(ARGV[2]) then
  redis.call('SET', KEYS[2], 'y', 'PX', ARGV[1] / 2)
  return 0
end
return 1
