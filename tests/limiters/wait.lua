-- A log that replies how long to wait, in microseconds.
--
-- rlctl: args {limit} {window_us} {now_us} {id}
-- rlctl: allowed r[1] == 1
--
-- $ rlctl lint wait.lua --head 'retry_after r[2] us'
-- > what the answers say of later ones: retry_after_us
-- $ rlctl lint wait.lua

local limit, window, now, id = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
if redis.call('ZCARD', KEYS[1]) < limit then
  redis.call('ZADD', KEYS[1], now, id)
  redis.call('PEXPIRE', KEYS[1], 2 * math.ceil(window / 1000))
  return {1, 0}
end
local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
-- The newest request leaves last:
-- or: local oldest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2]  -- want: wrong-wait warning
-- > retry_after_us is too long: it says 60 s, but
local wait = oldest + window - now
-- Rounded down:
-- or: local wait = math.floor((oldest + window - now) / 1000) * 1000  -- want: wrong-wait warning
-- > A denial's retry_after_us is too short: it says
-- or: local wait = math.floor((oldest + window - now) / 1e6) * 1e6  -- want: wrong-wait warning
-- or: local wait = oldest + window - now - 200  -- want: wrong-wait warning
-- or: local wait = 0  -- want: wrong-wait warning
-- > it says 0 µs, but the
-- Rounded up, which is right to two milliseconds:
-- or: local wait = math.ceil((oldest + window - now) / 1000) * 1000
-- or: local wait = math.ceil((oldest + window - now) / 1e6) * 1e6  -- want: wrong-wait note
-- or: local wait = math.ceil((oldest + window - now) / 1e6) * 1e6 + 1e6  -- want: wrong-wait warning
-- > retry_after_us is too long: it says
-- The error of floating point in seconds since 1970; a clock of milliseconds, and its next tick:
-- or: local wait = oldest + window - now - 5
-- or: local wait = oldest + window - now + 1900
return {0, wait}
