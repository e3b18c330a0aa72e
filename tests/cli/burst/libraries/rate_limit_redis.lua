-- The calls, arguments and reply of rate-limit-redis: the hits, and the ms until they are forgotten.
local hits = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left <= 0 or ARGV[1] == '1' then
  redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[2]))
  left = tonumber(ARGV[2])
end
return { hits, left }
