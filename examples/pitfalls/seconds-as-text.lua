-- A leaky bucket: a request is sent when its turn comes, so many a second. The sorted set has the
-- times of sending, in seconds; the reply is how long to wait.
--
-- What goes wrong: '..' and tostring() write 14 digits. Of the seconds since 1970 that leaves tenths of a
-- millisecond, and at 30,000 a second the next turn, 0.03 ms later, is the same text as the last one:
-- nobody waits. 30,001 requests at one instant should take a second. (Besides, the key has no TTL,
-- and the queue no end.)
--
-- $ rlctl burst steady --limit 30000/1s --rate 1000M/s --requests 30001 \
--     --script seconds-as-text.lua --args '{now} {limit}' --allowed-when always --delay-unit s \
--     --jsonl - | jq -rs '"the longest wait: \(map(.delay_us) | max) us"'
-- > the longest wait: 33 us
-- $ rlctl burst steady --limit 30000/1s --rate 1000M/s --requests 30001 --burst 30000 \
--     --algorithm leaky-bucket --jsonl - | jq -rs '"the longest wait: \(map(.delay_us) | max) us"'
-- > the longest wait: 999970 us

local key, now, rate = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

local last = redis.call('ZRANGE', key, -1, -1)[1]
local turn = now
if last then turn = math.max(now, tonumber(last) + 1 / rate) end
redis.call('ZADD', key, turn, tostring(turn))
return tostring(turn - now)
