-- It returns a count, of this request too, or of those before it.
--
-- $ rlctl burst boundary reply-of-count.lua --limit 5/60s --args '0'
-- ! the replies fit the limit if they are read with --allowed-when 'r <= limit'
-- $ rlctl adversary --tries 2000 reply-of-count.lua --args '0'
-- ! with --allowed-when 'r <= limit'
-- $ rlctl burst boundary reply-of-count.lua --limit 5/60s --args '0' --allowed-when '<=limit'
-- > note reply-of-count.lua: never above the limit with this traffic
-- $ rlctl burst reply-of-count.lua --limit 5/60s --args '1'
-- ! the replies fit the limit if they are read with --allowed-when 'r < limit'
-- $ rlctl adversary --tries 2000 reply-of-count.lua --args '1' --allowed-when zero
-- ! denied after 1 request, not 5: its own limit differs
-- $ rlctl burst poisson reply-of-count.lua --limit 5/60s --args '1' --allowed-when 'r < 3'
-- ! denied after 3 requests, not 5: its own limit differs
-- $ rlctl burst reply-of-count.lua --limit 5/60s --args '1' --allowed-when 'r < limit'

local count = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 60)
return count - ARGV[1]
