-- Denied requests count on purpose, and one request more than the limit is allowed; the comments say why.
--
-- rlctl: args {now_us} {window_us} {limit} {id}
--
-- $ rlctl lint excused.lua
-- > excused.lua:17: excused: denied-write: ZADD ann
-- > This critical finding is excused: whoever keeps trying stays out
-- > no findings, 2 critical findings excused in 1 script
-- want: wrong-limit excused
-- rlctl: allow wrong-limit because clients may send one more

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1] - ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[2] / 1000)
local count = redis.call('ZCARD', KEYS[1])
if count > tonumber(ARGV[3]) then
  -- rlctl: allow denied-write because whoever keeps trying stays out
  redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])  -- want: denied-write excused
  return 0
end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[2] / 1000)
return 1
