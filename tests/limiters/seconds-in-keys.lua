-- A key for each second, and thus for each request; one for each window is sound.
--
-- rlctl: allowed <=limit
--
-- $ rlctl lint seconds-in-keys.lua --keys '{key}:{now_s}' --limit 5/2s
-- ! 15 units were allowed within 2 s, more than twice 5
-- $ rlctl lint seconds-in-keys.lua --keys '{key}:{window_index}'

local n = redis.call('INCR', KEYS[1])  -- want: coarse-time critical (1)
redis.call('EXPIRE', KEYS[1], 120)
return n
