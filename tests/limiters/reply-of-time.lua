-- A queue that replies when the request proceeds.
--
-- rlctl: limit 5/10s
-- rlctl: allowed always
--
-- $ rlctl burst steady reply-of-time.lua --args '{now_ms} 0' --head 'delay r - now_ms ms' \
--     --assert 'worst<=1'
-- ! assertion 'worst<=1' does not hold
-- [1]
-- $ rlctl burst steady reply-of-time.lua --args '{now_ms} 0' --head 'delay r ms'
-- ! but 'r' is then a time since 1970
-- ! --head 'delay r - now_ms ms'
-- [5]
-- $ rlctl burst steady reply-of-time.lua --args '{now_ms} -1' --head 'delay r - now_ms ms'
-- ! but 'r - now_ms' is negative
-- ! hint: a delay is a time of 0 or more
-- [5]

redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000)
return ARGV[1] + ARGV[2]
