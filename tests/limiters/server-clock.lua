-- A counter of each window of the server's clock, which is the virtual one.
--
-- rlctl: args {limit} {window_s}
--
-- $ rlctl adversary --tries 2000 server-clock.lua
-- > server-clock.lua 2.00× the limit: 10 within

local now = redis.call('TIME')
local count = redis.call('INCR', KEYS[1] .. ':' .. math.floor(now[1] / ARGV[2]))
return count <= tonumber(ARGV[1]) and 1 or 0
