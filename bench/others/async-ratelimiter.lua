-- The same Redis commands in the same order as async-ratelimiter 1.6.6: a sorted set of times.
-- KEYS set   ARGV now and window in ms with a fraction, limit, 1 to look
-- Reply {remaining before this request or 0, ms of the reset / 1000, limit}
local set, now, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local limit, looks = tonumber(ARGV[3]), ARGV[4] == '1'
local count, oldest = 0, now
if redis.call('EXISTS', set) == 1 then
  redis.call('ZREMRANGEBYSCORE', set, 0, now - window)
  count = redis.call('ZCARD', set)
  if count > 0 then oldest = tonumber(redis.call('ZRANGE', set, 0, 0)[1]) end
end
local reply = {limit - count, math.floor((oldest + window) / 1000), limit}
if count >= limit then
  reply[1] = 0
  return reply
end
if not looks then
  redis.call('ZADD', set, now, now)
  redis.call('PEXPIRE', set, window)
end
return reply
