-- Requests of one microsecond are taken for one.
--
-- rlctl: args {limit} {window_ms} {now_us}
--
-- $ rlctl lint same-instant.lua
-- ! not tested: a second client, clocks that are ahead, costs: at one instant, all requests were allowed
-- want: wrong-limit critical

if redis.call('HGET', KEYS[1], 'last') == ARGV[3] then return 1 end
local used = redis.call('HINCRBY', KEYS[1], 'used', 1)
redis.call('HSET', KEYS[1], 'last', ARGV[3])
if used == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return used <= tonumber(ARGV[1]) and 1 or 0
