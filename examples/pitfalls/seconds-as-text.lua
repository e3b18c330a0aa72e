-- A leaky bucket: a request is sent when its turn comes, so many a second. The sorted set has the
-- times of sending, in seconds; the reply is how long to wait.
--
-- What goes wrong: tostring(), like '..', writes 14 digits. Of the seconds since 1970 that leaves tenths
-- of a millisecond, and at 30,000 a second the next turn, 0.03 ms later, is the same text as the last
-- one: nobody waits. 60,000 requests at one instant, which should take two seconds, are all sent at
-- once. (Besides, the key has no TTL, and the queue no end.)
--
-- $ rlctl burst steady --limit 30000/1s --rate 1000M/s --requests 60000 \
--     --script seconds-as-text.lua --args '{now} {limit}' --allowed-when always --delay-unit s \
--     --algorithm leaky-bucket --burst 60000
-- > seconds-as-text.lua 60000 60000 0 60000 2.00×
-- > leaky-bucket 60000 60000 0 30000 1.00×

local key, now, rate = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

local last = redis.call('ZRANGE', key, -1, -1)[1]
local turn = now
if last then turn = math.max(now, tonumber(last) + 1 / rate) end
redis.call('ZADD', key, turn, tostring(turn))
return tostring(turn - now)
