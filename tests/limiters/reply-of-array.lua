-- The verdict is the third element.
--
-- $ rlctl burst boundary --script reply-of-array.lua --limit 5/60s
-- ! the first element of every reply was 5, and element 3 was 1 at first and not always;
-- ! if that says whether the request is allowed, try --allowed-when 'r[3] == 1'
-- $ rlctl burst boundary --script reply-of-array.lua --limit 5/60s --allowed-when 'r[3] == 1'
-- Two elements explain the replies:
-- $ rlctl burst boundary --script reply-of-array.lua --limit 5/60s --args two

local count = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 60)
return {5, math.max(0, 5 - count), count <= 5 and 1 or 0, not ARGV[1] and 60 or count <= 5}
