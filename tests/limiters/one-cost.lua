-- A counter that refuses a cost other than its first, by an error: that is no flaw.
--
-- rlctl: args {limit} {window_ms} {cost}
--
-- $ rlctl lint one-cost.lua

local first = redis.call('HGET', KEYS[1], 'cost')
if first and first ~= ARGV[3] then return redis.error_reply('ERR the cost was ' .. first) end
redis.call('HSET', KEYS[1], 'cost', ARGV[3])
local used = redis.call('HINCRBY', KEYS[1], 'used', ARGV[3])
if used == tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return used <= tonumber(ARGV[1]) and 1 or 0
