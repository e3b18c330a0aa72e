-- Reads what is needed to tell how much of each key's limit is used. Calls no command that writes.
--
-- KEYS   any number of keys, which need not exist; in a cluster, of one slot
-- ARGV   for each key: its window in microseconds, or '' if it is not known;
--        then the time to report of, in microseconds, or '' for the server's clock;
--        then the names of fields to read of hashes
-- Reply  the server's time, seconds and microseconds, then an array for each key:
--          its type, as TYPE reports it; if the key exists, then
--          PTTL, and the bytes that it takes, -1 if the server does not report them; then,
--          with texts cut to 128 bytes,
--          string      the text
--          list        first and last element, length, number of elements that left the window;
--                      elements are microseconds, or seconds with a fraction
--          hash        number of fields, array of the values of those that are named
--          sorted set  first member and score, last member and score, number of members; of those
--                      with scores from 0, how many left the window if scores are microseconds, the
--                      same if they are milliseconds and if they are seconds, and how many are not
--                      in the future
--        A number that depends on the window is -1 if the window is not known.

local call = redis.call
local clock = call('TIME')
local now = tonumber(ARGV[#KEYS + 1]) or clock[1] * 1000000 + clock[2]

-- The first instant that still counts. Entries may be newer than now, by another clock.
local function first_live(newest, window)
  return math.max(now, newest) - window + 1
end

-- How many elements of the list, which is in order, the oldest at index 0 or -1, are less than the
-- instant.
local function count_before(key, size, instant, newest_first)
  local low, high = 0, size
  while low < high do
    local middle = math.floor((low + high) / 2)
    local index = newest_first and -middle - 1 or middle
    if (tonumber(call('LINDEX', key, index)) or 0) < instant then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

local function cut(text)
  return string.sub(text, 1, 128)
end

local read = {}

function read.string(row, key)
  row[4] = call('GETRANGE', key, '0', '127')
end

function read.list(row, key, window)
  local last = cut(call('LINDEX', key, '-1'))
  local size = call('LLEN', key)
  row[4], row[5], row[6], row[7] = cut(call('LINDEX', key, '0')), last, size, -1
  local first, newest = tonumber(row[4]), tonumber(last)
  if not window or not first or not newest then return end
  local newest_first = first > newest
  newest = math.max(first, newest)
  local unit = string.find(last, '.', 1, true) and 1000000 or 1
  row[7] = count_before(key, size, first_live(newest * unit, window) / unit, newest_first)
end

function read.zset(row, key, window)
  local first = call('ZRANGE', key, '0', '0', 'WITHSCORES')
  local last = call('ZRANGE', key, '-1', '-1', 'WITHSCORES')
  row[4], row[5], row[6], row[7] = cut(first[1]), first[2], cut(last[1]), last[2]
  row[8], row[9], row[10], row[11] = call('ZCARD', key), -1, -1, -1
  local newest = tonumber(last[2])
  if window and newest then
    local in_us, in_ms = first_live(newest, window), first_live(newest * 1000, window)
    row[9] = call('ZCOUNT', key, '0', string.format('(%.0f', in_us))
    row[10] = call('ZCOUNT', key, '0', string.format('(%.3f', in_ms / 1000))
    local in_s = first_live(newest * 1000000, window)
    row[11] = call('ZCOUNT', key, '0', string.format('(%.6f', in_s / 1000000))
  end
  row[12] = call('ZCOUNT', key, '0', string.format('%.0f', now))
end

function read.hash(row, key)
  row[4] = call('HLEN', key)
  row[5] = call('HMGET', key, unpack(ARGV, #KEYS + 2))
  for i, value in ipairs(row[5]) do row[5][i] = value and cut(value) end
end

local reply = {clock[1], clock[2]}
for i, key in ipairs(KEYS) do
  local kind = call('TYPE', key).ok
  local row = {kind}
  if kind ~= 'none' then
    -- Some users may not call it, and some servers do not have it.
    local bytes = redis.pcall('MEMORY', 'USAGE', key)
    row[2], row[3] = call('PTTL', key), type(bytes) == 'number' and bytes or -1
    if read[kind] then read[kind](row, key, tonumber(ARGV[i])) end
  end
  reply[#reply + 1] = row
end
return reply
