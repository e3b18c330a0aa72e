-- Allows ARGV[3] requests in a window of ARGV[2] ms; ARGV[1] is the time in ms, ARGV[4] a name that
-- no other request has. Replies 1 or 0.
local key, now, window, limit = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
local count = redis.call('ZCARD', key)
if count >= limit then
  return 0
end
redis.call('ZADD', key, now, ARGV[4])
redis.call('PEXPIRE', key, window + 1000)
return 1
