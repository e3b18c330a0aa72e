-- Requests of one millisecond are one field of this hash.
--
-- rlctl: args {now_ms} {window_ms} {limit}
--
-- $ rlctl lint times-as-fields.lua
-- ! not tested: a second client, clocks that are ahead, costs: at one instant, all requests were allowed

local now = tonumber(ARGV[1])
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], now, 1)  -- want: non-unique-member critical
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
