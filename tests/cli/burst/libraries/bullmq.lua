-- The calls and reply of bullmq's limiter: 0, or the ms to wait.
local most, duration = tonumber(ARGV[1]), tonumber(ARGV[2])
local left = redis.call('PTTL', KEYS[1])
if left > 0 and tonumber(redis.call('GET', KEYS[1])) >= most then return left end
if left == 0 then redis.call('DEL', KEYS[1]) end
if redis.call('INCR', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], duration) end
return 0
