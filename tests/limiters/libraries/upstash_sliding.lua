#!lua flags=allow-key-locking
-- The calls, arguments and reply of upstash's sliding window: what remains, below 0 if denied, and the limit.
--
-- rlctl: limit 5/60s
-- rlctl: keys {key}:{window_index} {key}:{prev_window_index}
-- rlctl: args {limit} {now_ms} {window_ms} {cost}
-- rlctl: allowed r[1] >= 0
-- rlctl: remaining r[1]
--
-- $ rlctl adversary --monotonic --tries 2000 upstash_sliding.lua
-- ! ignored
-- > 2.00× the limit
-- > wrongly denied: an exact log would allow

local tokens, now, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local current = tonumber(redis.call('GET', KEYS[1]) or 0)
local before = tonumber(redis.call('GET', KEYS[2]) or 0)
before = math.floor((1 - now % window / window) * before)
if before + current >= tokens then return { -1, tokens } end
local used = redis.call('INCRBY', KEYS[1], cost)
if used == cost then redis.call('PEXPIRE', KEYS[1], window * 2 + 1000) end
return { tokens - (used + before), tokens }
