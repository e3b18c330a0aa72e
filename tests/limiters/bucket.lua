-- A token bucket, and how clients get less out of it. For 5/250s, it is forgotten before it is full again.
--
-- $ rlctl lint bucket.lua --args '{limit} {rate} {now}'
-- > no findings in 1 script
-- $ rlctl lint bucket.lua --args '{limit} {rate} {now}' --limit 5/250s
-- $ rlctl lint bucket.lua --args '{limit} {rate} {now_s}'

local size, rate, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local have = tonumber(redis.call('HGET', KEYS[1], 'have') or size)
local seen = tonumber(redis.call('HGET', KEYS[1], 'seen') or now)
have = math.min(size, have + math.max(0, now - seen) * rate)
-- A clock that is ahead takes away what has refilled:
-- or: have = math.min(size, have + (now - seen) * rate)  -- want: future-clock note
local ok = have >= 1
if ok then have = have - 1 end
-- Denied requests cost something:
-- or: have = have - (ok and 1 or 0.07)  -- want: denied-write critical at 'HSET'
redis.call('HSET', KEYS[1], 'have', have, 'seen', now)  -- want: coarse-time warning (3)
-- What has refilled until a denial is lost:
-- or: if ok then redis.call('HSET', KEYS[1], 'have', have) end redis.call('HSET', KEYS[1], 'seen', now)
-- want: denied-write critical
redis.call('EXPIRE', KEYS[1], 120)  -- want: short-ttl critical (2)
return ok and 1 or 0
