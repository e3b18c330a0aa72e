-- A key that is not in KEYS, but in the slot of one that is, so that a Cluster runs the script.
--
-- rlctl: args {window_ms}
-- rlctl: allowed <=limit
--
-- $ rlctl lint key-in-slot.lua
-- > It works in a Cluster
-- > 2 notes in 1 script

local key = '{' .. KEYS[1] .. '}:count'
local count = redis.call('INCR', key)  -- want: undeclared-key note
if count == 1 then redis.call('PEXPIRE', key, ARGV[1]) end  -- want: undeclared-key note
return count
