-- The reply is JSON.
--
-- rlctl: limit 2/1h
--
-- $ rlctl burst reply-of-json.lua
-- ! replied '{"ok":true,"left":1}', but 'nonzero' reads a number, or true or false
-- ! json(r).NAME
-- [5]
-- $ rlctl burst steady --rate 2/s --requests 10 reply-of-json.lua --allowed-when 'json(r).ok' \
--     --head 'remaining json(r).left'
-- > reply-of-json.lua 10 2 8

local count = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 3600)
return cjson.encode({ok = count <= 2, left = 2 - count})
