-- A counter of costs that replies what it has left, and then what it had left before an ordinary request.
--
-- rlctl: args {limit} {window_ms} {cost}
-- rlctl: allowed r[1] == 1
--
-- $ rlctl lint what-is-left.lua --head 'remaining r[2]'
-- > what the answers say of later ones: remaining
-- $ rlctl lint what-is-left.lua --head 'remaining r[3]'
-- > remaining is too high: it says 4, but 0 more
-- $ rlctl lint what-is-left.lua --head 'remaining r[2] + 1'
-- $ rlctl lint what-is-left.lua --head 'reset_after 0 ms'
-- $ rlctl lint what-is-left.lua --head 'remaining r[2]' --head 'retry_after r[9] us'
-- > no findings in what was tested
-- > retry_after_us: no answer has it
-- > what the answers say of later ones: remaining
-- [3]
-- want: wrong-remaining warning (2 3), wrong-reset warning (4)

local limit, cost = tonumber(ARGV[1]), tonumber(ARGV[3])
local count = tonumber(redis.call('GET', KEYS[1]) or 0)
if count + cost > limit then return {0, limit - count} end
redis.call('INCRBY', KEYS[1], cost)
if count == 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {1, limit - count - cost, limit - count - 1}
