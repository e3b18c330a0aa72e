-- A counter of eight bits, which wraps while a client retries.
--
-- rlctl: args {limit} {window_ms}
--
-- $ rlctl lint wrapping-counter.lua
-- ! not tested: windows
-- [3]

local count = redis.call('BITFIELD', KEYS[1], 'INCRBY', 'u8', 0, 1)[1]
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return count <= tonumber(ARGV[1]) and 1 or 0
