-- The calls, arguments and reply of rate-limiter-flexible: the points consumed, and the TTL.
redis.call('SET', KEYS[1], 0, 'EX', ARGV[2], 'NX')
local consumed = redis.call('INCRBY', KEYS[1], ARGV[1])
return { consumed, redis.call('PTTL', KEYS[1]) }
