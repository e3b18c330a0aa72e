-- A bucket whose rate is rounded down to whole requests a second: far less refills than the limit says.
--
-- rlctl: limit 20/12s
-- rlctl: args {limit} {window_s} {now_ms}
--
-- $ rlctl lint whole-rate.lua
-- > A client that asks each 612 ms, less often than the limit says, was allowed
-- want: lost-refill critical, future-clock note

local size, now = tonumber(ARGV[1]), tonumber(ARGV[3])
local rate = math.floor(ARGV[1] / ARGV[2])
-- Without the rounding:
-- or: local rate = ARGV[1] / ARGV[2]  -- want: future-clock note at 'now'
local left, at = unpack(redis.call('HMGET', KEYS[1], 'left', 'at'))
left, at = tonumber(left or size), tonumber(at or now)
left = math.min(size, left + math.max(0, now - at) / 1000 * rate)
local allowed = left >= 1
if allowed then left = left - 1 end
redis.call('HSET', KEYS[1], 'left', string.format('%.9f', left), 'at', math.max(now, at))
redis.call('PEXPIRE', KEYS[1], 60000)
return allowed and 1 or 0
