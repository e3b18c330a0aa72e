-- More TTLs than a search waits for.
--
-- rlctl: limit 2/10s
-- rlctl: args {now_s}
--
-- $ rlctl adversary --tries 2000 many-ttls.lua
-- > schedules that wait for 4 of the TTLs

for i = 1, 12 do redis.call('SET', KEYS[1] .. i, 1, 'EX', 7 * i) end
return 1
