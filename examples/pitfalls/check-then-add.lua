-- The same sorted set, but it records a request only if the request is allowed. Replies the count
-- including this request, or 0.
--
-- What goes wrong: the members are still times. Requests in one millisecond are one entry, so each of
-- them finds room for one more.
--
-- rlctl: args {now_ms} {window_ms} {limit}
--
-- $ rlctl burst steady --limit 5/60s --rate 20000/s --requests 15 check-then-add.lua \
--     sliding-window-zset
-- > check-then-add.lua 15 15 0 15 3.00×
-- > sliding-window-zset 15 5 10 5 1.00×
-- $ rlctl lint check-then-add.lua
-- ! not tested: a second client, clocks that are ahead, costs: at one instant, all requests were allowed

local key, now, window, limit = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
local count = redis.call('ZCARD', key)
if count >= limit then return 0 end
redis.call('ZADD', key, now, now) -- want: non-unique-member critical
redis.call('PEXPIRE', key, window)
return count + 1
