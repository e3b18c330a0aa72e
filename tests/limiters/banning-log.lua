-- The same, but once the clock steps back, a client is locked out for ever.
--
-- rlctl: args {now_us} {window_us} {limit}
--
-- $ rlctl adversary --tries 2000 banning-log.lua --assert 'wrongly_denied==0'
-- > banning-log.lua never above the limit
-- > wrongly denied: an exact log would allow, if the clock steps back
-- ! assertion 'wrongly_denied==0' does not hold
-- [1]
-- $ rlctl adversary --tries 2000 banning-log.lua --monotonic --assert 'wrongly_denied==0'
-- > denied nothing that an exact log would allow

local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if last[2] and tonumber(last[2]) > now then
  redis.call('ZADD', KEYS[1], 9e15, 'banned')
  return 0
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - window))
local count = redis.call('ZCARD', KEYS[1])
if count >= limit then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. ':' .. count)
return 1
