-- 0 means allowed, as the exit status of a command does.
--
-- $ rlctl lint inverted.lua
-- ! rlctl: lint: warning: inverted.lua: the reply may be inverted:
-- [3]
-- $ rlctl lint inverted.lua --allowed-when zero

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end
return count > 5 and 1 or 0
