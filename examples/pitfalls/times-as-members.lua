-- The sorted set that most people write: remove old requests, record this one, count.
-- The time of a request in milliseconds is both its score and its member.
--
-- What goes wrong: a set holds each member only once, so requests in the same millisecond are one
-- entry. If 15 requests come two in each millisecond, 10 pass a limit of 5; if all come in one
-- millisecond, all 15 pass.
--
-- rlctl: args {now_ms} {window_ms}
-- rlctl: allowed <=limit
--
-- $ rlctl burst steady --limit 5/60s --rate 2000/s --requests 15 times-as-members.lua \
--     sliding-window-log
-- > times-as-members.lua 15 10 5 10 2.00×
-- > sliding-window-log 15 5 10 5 1.00×
-- $ rlctl burst steady --limit 5/60s --rate 20000/s --requests 15 times-as-members.lua \
--     sliding-window-log
-- > times-as-members.lua 15 15 0 15 3.00×
-- > sliding-window-log 15 5 10 5 1.00×
-- $ rlctl lint times-as-members.lua
-- ! not tested: a second client, clocks that are ahead, costs: at one instant, all requests were allowed

local key, now, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
redis.call('ZADD', key, now, now) -- want: non-unique-member critical, denied-write critical
local count = redis.call('ZCARD', key)
redis.call('PEXPIRE', key, window)
return count
