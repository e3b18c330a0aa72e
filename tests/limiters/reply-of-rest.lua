-- What remains, or -1 for a denial: 0, for the last request that is allowed, counts as denied, and -1 as allowed.
--
-- $ rlctl burst reply-of-rest.lua --limit 5/60s
-- ! denied after 4 requests, not 5: its own limit differs, the burst is missing,
-- ! or its reply is misread;
-- ! the replies fit the limit if they are read with --allowed-when 'r >= 0'
-- $ rlctl adversary --tries 2000 reply-of-rest.lua
-- ! the replies fit the limit if they are read with --allowed-when 'r >= 0'
-- $ rlctl burst reply-of-rest.lua --limit 5/60s --allowed-when 'r >= 0'

local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 60000)
return math.max(5 - count, -1)
