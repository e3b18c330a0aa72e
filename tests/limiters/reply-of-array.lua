-- The verdict is the third element.
--
-- rlctl: limit 5/60s
--
-- $ rlctl burst boundary reply-of-array.lua
-- ! the replies fit the limit if they are read with --allowed-when 'r[3] == 1'
-- $ rlctl burst boundary reply-of-array.lua --allowed-when 'r[3] == 1'
-- Two elements explain the replies; or none, since the third tells the first request of a key:
-- $ rlctl burst boundary reply-of-array.lua --args two
-- ! the replies fit the limit if they are read with --allowed-when 'r[3] == 1'
-- $ rlctl burst boundary reply-of-array.lua --args new

local count = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 60)
if ARGV[1] == 'new' then return {5, 60, count == 1} end
return {5, math.max(0, 5 - count), count <= 5 and 1 or 0, not ARGV[1] and 60 or count <= 5}
