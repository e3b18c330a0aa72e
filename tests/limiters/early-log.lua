-- A log that forgets one unit of its clock too early, which is more than rounding.
--
-- $ rlctl adversary --tries 5000 early-log.lua --args '{now_ms} {window_ms} {limit} {id}'
-- > early-log.lua 2.00× the limit: 10 within 59.999 s
-- $ rlctl adversary --tries 5000 early-log.lua --args '{now_s} {window_s} {limit} {id}'
-- > early-log.lua 2.00× the limit: 10 within 59 s

redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - ARGV[2] + 1)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('EXPIRE', KEYS[1], 3600)
return 1
