-- A counter that never learns how late it is, so that it denies for ever. What rlctl looks for to know this must not be
-- in a comment either.
--
-- rlctl: args {limit}
--
-- $ rlctl adversary --tries 2000 no-clock.lua
-- > no-clock.lua never above the limit
-- ! passes for no-clock.lua: it calls neither

return redis.call('INCR', KEYS[1]) <= tonumber(ARGV[1]) and 1 or 0
