-- It denies by an error.
--
-- rlctl: allowed r == 'OK'
--
-- $ rlctl burst --limit 5/60s reply-of-error.lua
-- ! reply-of-error.lua: LIMIT too many; request 6 had
-- ! hint: if this error is how the script denies, use --head 'denied_error LIMIT'
-- [5]
-- $ rlctl burst steady --limit 5/60s --rate 10/s --requests 8 reply-of-error.lua \
--     --head 'denied_error LIMIT'
-- > reply-of-error.lua 8 5 3
-- $ rlctl adversary --tries 2000 reply-of-error.lua --head 'denied_error LIMIT'
-- $ rlctl burst --limit 5/60s reply-of-error.lua --head 'denied_error OTHER'
-- ! LIMIT too many
-- ! use --head 'denied_error LIMIT'
-- [5]
-- $ rlctl burst --limit 5/60s reply-of-error.lua --head 'denied_error ERR'
-- ! ERR
-- ! hint: let the script reply with a code of its own
-- [2]

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], 60) end
if count > 5 then return redis.error_reply('LIMIT too many') end
return redis.status_reply('OK')
