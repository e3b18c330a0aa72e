-- Denials are counted beside the requests, which locks nobody out.
--
-- rlctl: keys {{key}}:n {{key}}:denied
-- rlctl: args {limit} {window_ms}
--
-- $ rlctl lint counts-denials.lua

local n = tonumber(redis.call('GET', KEYS[1]) or 0)
if n >= tonumber(ARGV[1]) then
  redis.call('HINCRBY', KEYS[2], 'denied', 1)
  redis.call('PEXPIRE', KEYS[2], ARGV[2] * 10)
  return 0
  -- This does:
  -- or: redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 0  -- want: denied-write critical
end
if redis.call('INCR', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
