-- The reset is that of the shorter of two windows. Besides, the longer one has room for little more.
--
-- rlctl: keys {{key}}a {{key}}b
-- rlctl: allowed r[1] == 1
-- rlctl: reset_after r[2] ms
--
-- $ rlctl lint two-windows.lua
-- > reset_after_us is too short: it says
-- ! not tested: retries: a client that asks each
-- ! not tested: requests below the limit: one was denied
-- want: wrong-reset warning

local counts, left = redis.call('MGET', KEYS[1], KEYS[2]), redis.call('PTTL', KEYS[1])
if (tonumber(counts[1]) or 0) >= 5 or (tonumber(counts[2]) or 0) >= 7 then return {0, left} end
for i = 1, 2 do
  if redis.call('INCR', KEYS[i]) == 1 then redis.call('PEXPIRE', KEYS[i], 60000 * 9 ^ (i - 1)) end
end
return {1, redis.call('PTTL', KEYS[1])}
