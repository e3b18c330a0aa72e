-- It returns nothing, which a script may do to allow.
--
-- $ rlctl burst reply-of-nothing.lua --limit 5/60s --args '{now}'
-- ! every reply was nil, which the server makes of false, too; if the script returns nothing,
-- $ rlctl burst reply-of-nothing.lua --limit 5/60s --args '{now}' --allowed-when nil
-- ! every reply was nil, which the server makes of false, too; if the script returns nothing,
-- $ rlctl adversary --tries 2000 reply-of-nothing.lua --args '{now}' --allowed-when zero
-- ! every reply was nil, which the server makes of false, too; if the script returns nothing,
-- $ rlctl burst reply-of-nothing.lua --limit 5/60s --args '{now}' --allowed-when always
-- $ rlctl burst reply-of-nothing.lua --limit 5/60s --args '{now} 5' --allowed-when nil

local count = redis.call('INCR', KEYS[1])
if ARGV[2] and count > tonumber(ARGV[2]) then return 'later' end
