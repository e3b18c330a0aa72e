-- Virtual time for TTLs: protects the TTLs of the last request's keys from real time, and takes the virtual
-- time that has passed from those of the next request's keys.
--
--   KEYS[1]             the hash that holds the virtual expiry time of each key, and under its own name the
--                       slack; its own TTL tells how much real time has passed since the last call
--   KEYS[2 .. 1+count]  the keys of the last request
--   KEYS[2+count ..]    the keys of the next request
--   ARGV   1 count   the number of the last request's keys
--          2 before  the time of the last request, virtual µs
--          3 after   the time of the next request, virtual µs
--          4 slack   µs by which keys expire later
--          5 reads   1 if the requests may read TTLs, which real time has shortened
--   Reply  1 if it took as long as the shortest TTL until the last request's keys were protected, and one of
--          them may have expired by real time, or now live too long, or its TTL was read too short; otherwise
--          0. And 2 more if a key of the next request ends within 50 ms of it, before or after

local hash, count = KEYS[1], tonumber(ARGV[1])
local before, after, slack, reads = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'
local spare = 3600000  -- ms
local last = 5         -- the shortest TTL in ms, for the next request
local near = 50000     -- µs, as KeyAging::kNear
local is_near = false

-- The TTL with which the next request finds a key: rounded down, so that a request that sets the same TTL
-- again leaves a longer one.
local function found_ttl(ends, now)
  return math.max(math.floor((ends + slack - now) / 1000), last)
end

-- The real time since the last call, in ms; 0 if there was none.
local function elapsed_since_last()
  local left = redis.call('PTTL', hash)
  return left < 0 and 0 or 2 * spare - left
end

-- A key's TTL, and the real time since the last call, both in ms and at one instant.
local function ttl_and_elapsed(key)
  local elapsed, left
  repeat
    elapsed, left = elapsed_since_last(), redis.call('PTTL', key)
  until elapsed_since_last() == elapsed
  return left, elapsed
end

-- Whether real time could matter to the key: not if the requests left its TTL alone, or left it without one.
local function pause(key)
  local left, elapsed = ttl_and_elapsed(key)
  local ends = tonumber(redis.call('HGET', hash, key) or nil)
  if left < 0 then
    redis.call('HDEL', hash, key)
    return ends ~= nil or left == -2
  end
  local is_as_found = ends and left == found_ttl(ends, before) - elapsed
  if not is_as_found then
    local step = left >= 1000 and 10 or left >= 100 and 5 or 1
    local set_to = elapsed >= step and left + elapsed + 1 or left
    ends = before + math.ceil(set_to / step) * step * 1000
    redis.call('HSET', hash, key, string.format('%.0f', ends))
  end
  redis.call('PEXPIRE', key, left + spare)
  return not is_as_found or reads
end

-- Whether the key is gone before its time: if the server stalls within PEXPIRE, it takes a short TTL for
-- one that has passed, and deletes the key. The next try finds that out.
local function resume(key)
  local ends = tonumber(redis.call('HGET', hash, key) or nil)
  if not ends then return false end
  is_near = is_near or math.abs(after - ends) <= near
  local lives = after < ends + slack
  if lives and redis.call('PEXPIRE', key, found_ttl(ends, after)) == 1 then return false end
  if not lives then redis.call('UNLINK', key) end
  redis.call('HDEL', hash, key)
  return lives
end

local to_pause, to_resume = {}, {}
for i = 2, 1 + count do to_pause[i - 1] = KEYS[i] end
for i = 2 + count, #KEYS do to_resume[i - 1 - count] = KEYS[i] end
local is_late = false
for _, key in ipairs(to_pause) do is_late = pause(key) or is_late end
is_late = is_late and elapsed_since_last() >= last
redis.call('HSET', hash, hash, ARGV[4])
local is_gone = false
for _ = 1, 10 do  -- all TTLs in the same ms, if that can be
  redis.call('PEXPIRE', hash, 2 * spare)
  for _, key in ipairs(to_resume) do is_gone = resume(key) or is_gone end
  if redis.call('PTTL', hash) == 2 * spare then break end
end
-- To the next call it looks as if real time had passed.
if is_gone then redis.call('PEXPIRE', hash, 2 * spare - last) end
return (is_late and 1 or 0) + (is_near and 2 or 0)
