-- Inverted, it would deny every second request, too, however high the limit: no hint fits.
--
-- rlctl: args {now}
--
-- $ rlctl burst steady every-second.lua --limit 5/60s
-- $ rlctl adversary --tries 2000 every-second.lua

return redis.call('INCR', KEYS[1]) % 2 == 0 and 1 or 0
