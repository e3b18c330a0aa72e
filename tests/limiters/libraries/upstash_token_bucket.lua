#!lua flags=allow-key-locking
-- The calls, arguments and reply of upstash's token bucket: what remains, below 0 if denied, and the refill.
--
-- rlctl: limit 5/60s
-- rlctl: args {limit} {window_ms} {limit} {now_ms} {cost}
-- rlctl: allowed r[1] >= 0
--
-- $ rlctl adversary --monotonic --tries 2000 upstash_token_bucket.lua --head 'remaining r[1]'
-- ! ignored
-- > 1.80× the limit
-- > denied nothing that an exact log would allow
-- Four requests of 3 leave 5 - 12 tokens, so that more than one refill passes before the next:
-- $ rlctl burst steady --cost 3 --rate 4/60s --duration 240s upstash_token_bucket.lua \
--     token-bucket
-- ! ignored
-- > upstash_token_bucket.lua 16 1 15
-- > token-bucket 16 7 9

local most, interval, rate = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now, cost = tonumber(ARGV[4]), tonumber(ARGV[5])
local bucket = redis.call('HMGET', KEYS[1], 'refilledAt', 'tokens')
local refilled, tokens = now, most
if bucket[1] then
  refilled, tokens = tonumber(bucket[1]), tonumber(bucket[2])
end
if now >= refilled + interval then
  local times = math.floor((now - refilled) / interval)
  tokens = math.min(most, tokens + times * rate)
  refilled = refilled + times * interval
end
if tokens == 0 then return { -1, refilled + interval } end
local remaining = tokens - cost
redis.call('HSET', KEYS[1], 'refilledAt', refilled, 'tokens', remaining)
redis.call('PEXPIRE', KEYS[1], math.ceil((most - remaining) / rate) * interval)
return { remaining, refilled + interval }
