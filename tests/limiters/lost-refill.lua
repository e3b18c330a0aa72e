-- A bucket that adds whole units. The rest of the division is lost, as an allowed request counts from its own time: who
-- asks each 10.91 s gets a unit each 21.82 s, and who asks each second, each 12 s.
--
-- rlctl: args {burst} {limit} {window_ms} {now_ms}
--
-- $ rlctl lint lost-refill.lua
-- > lost-refill.lua: critical: lost-refill: A part of what refills is lost
-- > Seen: 5 of 6 allowed at 0 s, 22 of 44 each 10.91 s from 10.91 s to 480 s.
-- $ rlctl lint lost-refill.lua --limit 2/60s
-- $ rlctl lint lost-refill.lua --limit 1/60s --head 'burst 2'
-- want: lost-refill critical

local cap, step, now = tonumber(ARGV[1]), ARGV[3] / ARGV[2], tonumber(ARGV[4])
local have, at = unpack(redis.call('HMGET', KEYS[1], 'have', 'at'))
have, at = tonumber(have) or cap, tonumber(at) or now
local added = math.floor(math.max(0, now - at) / step)
have = math.min(cap, have + added)
if have < 1 then return 0 end
at = now
-- The rest is kept:
-- or: at = have == cap and now or at + added * step
redis.call('HSET', KEYS[1], 'have', have - 1, 'at', at)
redis.call('PEXPIRE', KEYS[1], math.ceil(2 * cap * step))
return 1
