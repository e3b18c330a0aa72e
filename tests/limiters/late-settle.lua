-- A budget whose settle adds the difference to what a reserve has added. Once the key has expired, a settle writes it
-- anew, without a TTL.
--
-- rlctl: limit 1000/60s
-- rlctl: args {event} {limit} {cost} {actual} {window_ms}
--
-- $ rlctl lint late-settle.lua --reserve 100
-- want: double-refund critical, leaked-units critical, no-ttl warning

local key, cost = KEYS[1], tonumber(ARGV[3])
if ARGV[1] == 'settle' then
  redis.call('INCRBY', key, tonumber(ARGV[4]) - cost)
  -- It writes nothing then, or with a TTL:
  -- or: if redis.call('EXISTS', key) == 1 then redis.call('INCRBY', key, tonumber(ARGV[4]) - cost) end
  -- want: double-refund critical, leaked-units critical
  -- or: redis.call('SET', key, 0, 'NX', 'PX', ARGV[5]); redis.call('INCRBY', key, tonumber(ARGV[4]) - cost)
  -- want: double-refund critical, leaked-units critical
  return 1
end
local used = redis.call('INCRBY', key, cost)
if redis.call('PTTL', key) < 0 then redis.call('PEXPIRE', key, ARGV[5]) end
if used <= tonumber(ARGV[2]) then return 1 end
redis.call('DECRBY', key, cost)
return 0
