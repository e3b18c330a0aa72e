-- A queue that replies when the request proceeds.
--
-- $ rlctl burst steady --limit 5/10s --script reply-of-time.lua --allowed-when always --args '{now_ms} 0' \
--     --delay 'r - now_ms ms' --assert 'worst<=1'
-- ! assertion 'worst<=1' does not hold
-- [1]
-- $ rlctl burst steady --limit 5/10s --script reply-of-time.lua --allowed-when always --args '{now_ms} 0' \
--     --delay 'r ms'
-- ! --delay 'r' is then a time since 1970
-- ! --delay 'r - now_ms ms'
-- [5]
-- $ rlctl burst steady --limit 5/10s --script reply-of-time.lua --allowed-when always --args '{now_ms} -1' \
--     --delay 'r - now_ms ms'
-- ! --delay 'r - now_ms' is negative
-- ! hint: a delay is a time of 0 or more
-- [5]

redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000)
return ARGV[1] + ARGV[2]
