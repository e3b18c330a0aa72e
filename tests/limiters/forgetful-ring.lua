-- A ring that ends with the first of its times. In another unit, they decide nothing, which makes it a counter.
--
-- $ rlctl lint forgetful-ring.lua --args '{limit} {window_ms} {now_ms}'
-- $ rlctl lint forgetful-ring.lua --args '{limit} {window_ms} {now_s}'

local limit, window, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local place = tonumber(redis.call('HGET', KEYS[1], 'next') or 0)
local oldest = redis.call('HGET', KEYS[1], place)
if oldest and now - oldest < window then return 0 end
redis.call('HSET', KEYS[1], place, now, 'next', (place + 1) % limit)  -- want: mixed-units critical (2)
local is_new = redis.call('PTTL', KEYS[1]) < 0
if is_new then redis.call('PEXPIRE', KEYS[1], window + 1000) end  -- want: short-ttl critical (1)
return 1
