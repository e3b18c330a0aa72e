-- A sound bucket with a registry of its keys. Neither its fields nor the members of the registry are requests.
--
-- rlctl: keys {{key}} {{key}}:all
-- rlctl: args {now_ms}
--
-- $ rlctl lint registry.lua

local tokens = tonumber(redis.call('HGET', KEYS[1], 'tokens') or 5)
local last = tonumber(redis.call('HGET', KEYS[1], 'time') or ARGV[1])
tokens = math.min(5, tokens + math.max(0, ARGV[1] - last) / 12000)
local allowed = tokens >= 1
if allowed then tokens = tokens - 1 end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'time', ARGV[1])
redis.call('PEXPIRE', KEYS[1], 60000)
redis.call('SADD', KEYS[2], KEYS[1])
redis.call('PEXPIRE', KEYS[2], 60000)
return allowed and 1 or 0
