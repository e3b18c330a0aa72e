-- What remains is wrong only for a request that prunes: what has left counts twice.
--
-- rlctl: args {limit} {window_ms} {now_ms} {id}
-- rlctl: allowed r[1] == 1
-- rlctl: remaining r[2]
--
-- $ rlctl lint late-remaining.lua
-- want: wrong-remaining warning

local gone = redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3] - ARGV[2])
local count = redis.call('ZCARD', KEYS[1])
if count >= tonumber(ARGV[1]) then return {0, 0} end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {1, math.min(ARGV[1] - count - 1 + gone, ARGV[1] - 1)}
