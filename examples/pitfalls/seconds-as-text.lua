-- A leaky bucket: requests proceed one after another, at a fixed rate. The sorted set holds the times
-- at which they proceed, in seconds; the reply is how long to wait.
--
-- What goes wrong: tostring(), like '..', writes 14 digits. For seconds since 1970, these reach down to
-- a tenth of a millisecond. At 30,000 a second, the next turn is 0.03 ms later and becomes the same
-- text as the last one, so nobody waits. 60,000 requests at one instant, which should take two seconds,
-- all proceed at once. (Besides, the key has no TTL, nothing leaves it, and the queue has no limit.)
--
-- rlctl: limit 30000/1s
-- rlctl: args {now} {limit}
-- rlctl: allowed always
-- rlctl: delay tonumber(r) s
--
-- $ rlctl burst steady --rate 1000M/s --requests 60000 seconds-as-text.lua leaky-bucket \
--     --burst 60000
-- > seconds-as-text.lua 60000 60000 0 60000 2.00×
-- > leaky-bucket 60000 60000 0 30000 1.00×
-- $ rlctl lint seconds-as-text.lua
-- ! the limit 30000/1s is scaled down to 20/1s: the traffic must exceed it
-- ! not tested: cost 1: nothing was denied at one instant
-- ! not tested: idle gaps of each TTL: nothing was denied at one instant

local key, now, rate = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

local last = redis.call('ZRANGE', key, -1, -1)[1]
local turn = now
if last then turn = math.max(now, tonumber(last) + 1 / rate) end
local text = tostring(turn)
redis.call('ZADD', key, turn, text)
-- want: number-as-text warning at 'ZADD', non-unique-member critical at 'ZADD'
-- want: no-ttl warning at 'ZADD', never-pruned warning at 'ZADD'
return tostring(turn - now)
