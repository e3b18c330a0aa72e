-- It replies with a status or, as ARGV asks, with other values of which the first allows.
--
-- rlctl: limit 5/60s
--
-- $ rlctl burst reply-of-words.lua --args 'ALLOW DENY'
-- ! replied 'ALLOW', but 'nonzero' reads a number, or true or false
-- ! hint: if this reply allows, use --allowed-when 'r == "ALLOW"'
-- [5]
-- $ rlctl burst reply-of-words.lua --args 'ALLOW DENY' --allowed-when 'r == "ALLOW"'
-- $ rlctl burst reply-of-words.lua --args 'ALLOW DENY' --allowed-when 'r == "OK"'
-- ! the replies fit the limit if they are read with --allowed-when 'r == "ALLOW"'
-- $ rlctl burst reply-of-words.lua --args '1 2'
-- ! the replies fit the limit if they are read with --allowed-when 'r == 1'
-- The reply to every request is another one:
-- $ rlctl burst reply-of-words.lua --args '1 2 1'
-- $ rlctl burst reply-of-words.lua --args '1 2 "\"0\""'
-- ! attempt to compare number with nil; request 1 had
-- ! hint: tonumber() of "0" is nil, since its quotes are a part of it: leave them out
-- [5]

local count = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 60)
if ARGV[3] and tonumber(ARGV[3]) > 0 then return 1000 + count end
local reply = count <= 5 and ARGV[1] or ARGV[2]
return tonumber(reply) or redis.status_reply(reply)
