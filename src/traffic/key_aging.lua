-- Virtual time for TTLs: protects the TTLs of the last request's keys from real time, and takes the virtual
-- time that has passed from those of the next request's keys.
--
--   KEYS[1]             the hash that holds the virtual expiry time of each key; its own TTL tells how much
--                       real time has passed since the last call
--   KEYS[2 .. 1+count]  the keys of the last request
--   KEYS[2+count ..]    the keys of the next request
--   ARGV   1 count   the number of the last request's keys; -1: age every key of the database
--          2 before  the time of the last request, virtual µs
--          3 after   the time of the next request, virtual µs
--          4 slack   µs by which keys expire later
--   Reply  none

local hash, count = KEYS[1], tonumber(ARGV[1])
local before, after, slack = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local spare = 3600000  -- ms
local last = 5         -- the shortest TTL in ms, for the next request

-- The time left, in whole ms.
local function until_end(ends, now)
  return math.max(math.ceil((ends + slack - now) / 1000), last)
end

-- The real time in ms since the last call, or slightly more.
local function elapsed()
  local left = redis.call('PTTL', hash)
  return left < 0 and 0 or 2 * spare - left + 1
end

local function pause(key)
  local left = redis.call('PTTL', key)
  if left < 0 then return redis.call('HDEL', hash, key) end
  local ends = tonumber(redis.call('HGET', hash, key) or nil)
  local was = ends and until_end(ends, before)
  local lost = left ~= was and elapsed() or 0
  if not was or left > was or left < was - lost then
    local step = left >= 1000 and 10 or left >= 100 and 5 or 1
    local set_to = lost > step and left + lost or left
    ends = before + math.ceil(set_to / step) * step * 1000
    redis.call('HSET', hash, key, string.format('%.0f', ends))
  end
  redis.call('PEXPIRE', key, left + spare)
end

local function resume(key)
  local ends = tonumber(redis.call('HGET', hash, key) or nil)
  if not ends then return end
  if after < ends + slack then return redis.call('PEXPIRE', key, until_end(ends, after)) end
  redis.call('UNLINK', key)
  redis.call('HDEL', hash, key)
end

local to_pause, to_resume = {}, {}
if count < 0 then
  for _, key in ipairs(redis.call('KEYS', '*')) do
    if key ~= hash then to_pause[#to_pause + 1] = key end
  end
  to_resume = to_pause
else
  for i = 2, 1 + count do to_pause[i - 1] = KEYS[i] end
  for i = 2 + count, #KEYS do to_resume[i - 1 - count] = KEYS[i] end
end
for _, key in ipairs(to_pause) do pause(key) end
if redis.call('PEXPIRE', hash, 2 * spare) == 0 then
  redis.call('HSET', hash, hash, '')
  redis.call('PEXPIRE', hash, 2 * spare)
end
for _, key in ipairs(to_resume) do resume(key) end
