-- A wait of 0 is excused, which does not excuse the window that never ends.
--
-- rlctl: args {limit} {window_ms}
-- rlctl: allowed zero
--
-- $ rlctl lint excused-cause.lua
-- > 1 critical finding, 1 critical finding excused in 1 script

local limit = tonumber(ARGV[1])
if tonumber(redis.call('GET', KEYS[1]) or 0) >= limit then
  -- rlctl: allow zero-wait because clients wait a millisecond anyway
  return redis.call('PTTL', KEYS[1])  -- want: zero-wait excused
end
redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])  -- want: renewed-window critical
return 0
