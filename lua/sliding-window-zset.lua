-- sliding-window-zset: allows at most `limit` units in any span of one `window`, exactly, and keeps
-- them in a sorted set. Same replies as sliding-window-log, for twelve times the memory.
--
-- KEYS    one key for each limit; if any key denies the request, none records it
-- ARGV    for each key  limit   1 to 1e9
--                       window  1000 to 1e14 microseconds: 60 s is 60000000
--                       burst   must be empty: this algorithm has no burst
--         then          cost    -10000 to 10000, default 1; 0 peeks, a negative cost refunds
--                       now     0 to 4e15 microseconds since 1970, default: the server's clock
--         Empty arguments, and those omitted at the end, take their defaults.
-- Reply   {allowed, remaining, retry_after, reset_after, delay, denied_by}; times in microseconds,
--         retry_after is -1 for never; denied_by is the number of the key to wait longest for
-- Errors  ERR for an invalid argument, WRONGTYPE for a key with other content; nothing is written
-- Stored  a sorted set: a member 'MICROSECONDS:SEQUENCE' for every allowed unit, scored by its
--         microseconds; the sequence number has ten digits
--
-- rlctl: keys {key}
-- rlctl: args {limit} {window_us} '' {cost}
-- rlctl: allowed r[1] == 1
-- rlctl: remaining r[2]
-- rlctl: retry_after r[3] us
-- rlctl: reset_after r[4] us

local FOREIGN = "WRONGTYPE sliding-window-zset: KEYS[%d] must hold a sorted set of members " ..
                "'MICROSECONDS:SEQUENCE' scored by their microseconds"

local length, gone -- members stored, and how many of them have left the window
local time, newest, sequence -- the key's time; the newest unit; the last sequence at time, or -1
local reset_if_allowed = 0

-- [arguments] The same in every script, but for its name, its costs and its last arguments. Locals,
-- since each access to a global costs server time.
local KEYS, ARGV, tonumber, call, pcall = KEYS, ARGV, tonumber, redis.call, redis.pcall
local n, given = #KEYS, #ARGV
if n == 0 then
  return redis.error_reply('ERR sliding-window-zset: KEYS must have one key for each limit, not ' ..
                           "'0 keys'")
end
local cost, now, margin = 1, '', 0
if given > 3 * n then
  cost, now = ARGV[3 * n + 1], ARGV[3 * n + 2] or ''
  if given > 3 * n + 2 then
    return redis.error_reply('ERR sliding-window-zset: ARGV must be limit, window, burst per ' ..
                             "key, then cost, now, not '" .. ARGV[3 * n + 3] .. "'")
  end
  cost = cost == '' and 1 or tonumber(cost)
  if not (cost and cost >= -10000 and cost <= 10000 and cost % 1 == 0) then
    return redis.error_reply('ERR sliding-window-zset: cost must be a whole number from -10000 ' ..
                             "to 10000 (gcra takes more), not '" .. ARGV[3 * n + 1] .. "'")
  end
end
if now == '' then
  now = call('TIME')
  now = now[1] * 1000000 + now[2]
else
  now, margin = tonumber(now), 3600000000 -- TTLs last an hour longer: the caller's clock may lag
  if not (now and now >= 0 and now <= 4e15 and now % 1 == 0) then
    return redis.error_reply('ERR sliding-window-zset: now must be a whole number of ' ..
                             "microseconds from 0 to 4e15, not '" .. ARGV[3 * n + 2] .. "'")
  end
end
-- [/arguments]

local NEVER = 1e16 -- longer than any wait
local remaining, retry_after, reset_after, denied_by = 1e10, 0, 0, 0
local key, limit, window -- of the current key; after the loop, of the last key
local kept = n > 1 and {} -- the results by key, but for the last key: spares a table for one key
-- [limits] The same in every script, but for its name and where it takes bursts or periods.
for i = 1, n do
  key, limit, window = KEYS[i], tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1])
  if not (limit and limit >= 1 and limit <= 1e9 and limit % 1 == 0) then
    return redis.error_reply('ERR sliding-window-zset: limit of KEYS[' .. i .. '] must be a ' ..
                             "whole number from 1 to 1e9, not '" .. (ARGV[3 * i - 2] or '') .. "'")
  end
  if not (window and window >= 1000 and window <= 1e14 and window % 1 == 0) then
    return redis.error_reply('ERR sliding-window-zset: window of KEYS[' .. i .. '] must be a ' ..
                             'whole number of microseconds from 1000 to 1e14 (60 s is ' ..
                             "60000000), not '" .. (ARGV[3 * i - 1] or '') .. "'")
  end
  if given >= 3 * i and ARGV[3 * i] ~= '' then
    return redis.error_reply('ERR sliding-window-zset: burst of KEYS[' .. i .. '] must be left ' ..
                             "out, not '" .. ARGV[3 * i] .. "'")
  end
  if kept and kept[key] then
    return redis.error_reply('ERR sliding-window-zset: KEYS[' .. i .. '] must be a key of its ' ..
                             "own, not '" .. key .. "'")
  end
  -- [/limits]

  length = pcall('ZCARD', key)
  if type(length) ~= 'number' then
    return string.find(length.err, 'WRONGTYPE') and redis.error_reply(FOREIGN:format(i)) or length
  end
  gone, time, sequence = 0, now, -1
  if length > 0 then
    local last = call('ZRANGE', key, '-1', '-1', 'WITHSCORES')
    newest, sequence = tonumber(last[2]), tonumber(string.sub(last[1], -10))
    if not (newest >= 0 and newest <= 4e15 and newest % 1 == 0 and sequence and
            last[1] == string.format('%d:%010d', newest, sequence)) then
      return redis.error_reply(FOREIGN:format(i))
    end
    if newest > now then time = newest end
    if newest <= time - window then
      gone = length
    else
      gone = call('ZCOUNT', key, '-inf', string.format('%d', time - window))
    end
    if newest < time then sequence = -1 end
  end

  local used = length - gone
  local reset = used > 0 and newest + window - now or 0
  if cost < 0 then
    gone = gone + (used < -cost and used or -cost)
    used = length - gone
    if used == 0 then reset = 0 end
  elseif cost > limit - used and cost > 0 then
    local last, wait = length + cost - limit - 1, NEVER -- the last unit that must leave the window
    if cost <= limit then
      local at = string.match(call('ZRANGE', key, last, last)[1], '^(%d+):')
      if not at then return redis.error_reply(FOREIGN:format(i)) end
      wait = at + window - now
    end
    if wait > retry_after then retry_after, denied_by = wait, i end
  end
  if limit - used < remaining then remaining = limit - used end
  if reset > reset_after then reset_after = reset end
  if time + window - now > reset_if_allowed then reset_if_allowed = time + window - now end
  if i < n then
    kept[key] = denied_by > 0 or {window = window, length = length, gone = gone, time = time,
                                  newest = newest, sequence = sequence}
  end
end

if remaining < 0 then remaining = 0 end
if retry_after == NEVER then retry_after = -1 end
if denied_by > 0 then return {0, remaining, retry_after, reset_after, 0, denied_by} end
if cost == 0 then return {1, remaining, 0, reset_after, 0, 0} end

for i = n, 1, -1 do
  if i < n then
    local its = kept[KEYS[i]]
    key, window, length, gone = KEYS[i], its.window, its.length, its.gone
    time, newest, sequence = its.time, its.newest, its.sequence
  end
  -- [ttl] These lines are the same in both sliding-window-log and -zset.
  -- A quarter of the window longer than needed, so that not every call has to set it.
  local last = cost > 0 and time or newest or now
  local needed = (last + window - now + margin + 999) / 1000
  local ttl, left = needed + window / 4000, length > 0 and call('PTTL', key) or -1
  if cost > 0 and gone > cost and left > ttl then
    -- So long a TTL was set for a longer window, which still counts what has left this one: drop
    -- no more units than are added.
    gone = cost
  end
  -- [/ttl]
  if gone == length then
    -- Free all members at once in another thread, rather than one by one in this call.
    if length > 0 then call('UNLINK', key) end
    ttl, left = left < needed and ttl or left, -1
  elseif gone > 0 then
    call('ZREMRANGEBYRANK', key, '0', gone - 1)
  end
  if cost > 0 then
    local at, members = string.format('%d', time), {}
    for j = 2, cost do
      members[#members + 1] = at
      members[#members + 1] = string.format('%s:%010d', at, sequence + j)
      if #members == 1000 then
        call('ZADD', key, unpack(members))
        members = {}
      end
    end
    call('ZADD', key, at, string.format('%s:%010d', at, sequence + 1), unpack(members))
  end
  if left < needed and (cost > 0 or gone < length) then
    call('PEXPIRE', key, string.format('%d', ttl))
  end
end
if cost < 0 then return {1, remaining, 0, reset_after, 0, 0} end
return {1, remaining - cost, 0, reset_if_allowed, 0, 0}
