-- Retries during a ban count, so that the ban begins anew.
--
-- rlctl: limit 5/10s
-- rlctl: keys {{key}}:n {{key}}:ban
-- rlctl: args {window_ms} {limit}
--
-- $ rlctl lint endless-ban.lua

local n = redis.call('INCR', KEYS[1])  -- want: denied-write critical
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
if n > tonumber(ARGV[2]) then
  redis.call('SET', KEYS[2], 'y', 'PX', ARGV[1])
  return 0
end
return 1
