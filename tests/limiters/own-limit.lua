-- The limit is in the script, so that --limit may not be it.
--
-- $ rlctl lint own-limit.lua --limit 5/60s
-- $ rlctl lint own-limit.lua --limit 20000/60s
-- > no findings in what was tested, in 1 script
-- ! the limit 20000/60s is scaled down to 20/60s: the traffic must exceed it
-- ! own-limit.lua: not tested: the limit 20/60s: denied after 5 requests, not 20: its own limit differs
-- [3]
-- $ rlctl lint own-limit.lua --limit 1000000000/60s
-- > no findings in what was tested, in 1 script
-- ! is scaled down to 20/60s: the traffic must exceed it
-- ! own-limit.lua: not tested: the limit 20/60s: denied after 5 requests, not 20: its own limit differs
-- [3]
-- $ rlctl lint own-limit.lua --limit 20000/60s --head 'burst 5'
-- ! is scaled down to 20/60s: the traffic must exceed it
-- [3]
-- $ rlctl lint own-limit.lua --limit 3/60s
-- ! own-limit.lua: not tested: requests below the limit: the script's own limit differs
-- [3]
-- $ rlctl lint own-limit.lua --limit 5/10s
-- ! not tested: requests below the limit: they were denied, but so was a client for 60
-- [3]
-- $ rlctl burst own-limit.lua --limit 5/60s --args '{now}'
-- $ rlctl burst own-limit.lua --limit 5/60s --args '{now}' --allowed-when zero
-- ! the reply may be inverted: the first request was denied, and a later one was allowed; try --allowed-when nonzero

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end
return count <= 5 and 1 or 0
