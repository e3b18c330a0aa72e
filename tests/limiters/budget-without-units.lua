-- A budget that is told only what a settle costs, so that any number of reservations find room.
--
-- rlctl: limit 10/60s
-- rlctl: args {event} {limit} {actual} {window_ms}
--
-- $ rlctl lint budget-without-units.lua --reserve 4
-- ! is not told how many units are reserved; if it can be, put {cost} in --args
-- want: over-budget critical, leaked-units critical

local used = tonumber(redis.call('GET', KEYS[1]) or 0)
if ARGV[1] == 'reserve' then return used < tonumber(ARGV[2]) and 1 or 0 end
redis.call('INCRBY', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
