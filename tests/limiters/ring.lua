-- A ring of the last times, one for each request that fits. Compared with a window in another unit, they never
-- leave it.
--
-- $ rlctl lint ring.lua --args '{limit} {window_ms} {now_ms}'
-- $ rlctl lint ring.lua --args '{limit} {window_ms} {now_s}'
-- > Fix: use {now_ms} in place of {now_s}.
-- $ rlctl lint ring.lua --args '{limit} {window} {now_ms}'
-- > Fix: use {window_ms} in place of {window}.

local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = tonumber(ARGV[3])
-- or: local now = tonumber(redis.call('TIME')[1])  -- want: mixed-units critical at 'HSET'
-- > Fix: use t[1] * 1000 + math.floor(t[2] / 1000) in place of t[1] of TIME.
local place = tonumber(redis.call('HGET', KEYS[1], 'next') or 0)
local oldest = redis.call('HGET', KEYS[1], place)
if oldest and now - oldest < window then return 0 end
redis.call('HSET', KEYS[1], place, now, 'next', (place + 1) % limit)  -- want: mixed-units critical (2 3)
redis.call('PEXPIRE', KEYS[1], window + 1000)
return 1
