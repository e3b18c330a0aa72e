-- 0 means allowed, as the exit status of a command does.
--
-- $ rlctl lint inverted.lua
-- ! rlctl: lint: warning: inverted.lua: the reply may be inverted:
-- [3]
-- $ rlctl lint inverted.lua --allowed-when zero
-- $ rlctl burst inverted.lua --limit 5/60s --args '{now}'
-- > hint inverted.lua: the reply may be inverted: the first request was
-- ! inverted.lua: the reply may be inverted: the first request was denied, and a later one was allowed;
-- ! try --allowed-when zero
-- $ rlctl adversary --tries 2000 inverted.lua --args '{now}'
-- > hint the reply may be inverted: the first request was denied, and a later
-- ! inverted.lua: the reply may be inverted: the first request was denied, and a later one was allowed;
-- $ rlctl burst inverted.lua --limit 5/60s --args '{now}' --allowed-when zero

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end
return count > 5 and 1 or 0
