-- sliding-window-log: allows at most `limit` units in any span of one `window`, exactly. It takes
-- about ten bytes per unit. The default algorithm.
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
-- Stored  a list: the time of every allowed unit in microseconds since 1970, oldest first
--
-- rlctl: keys {key}
-- rlctl: args {limit} {window_us} '' {cost}
-- rlctl: allowed r[1] == 1
-- rlctl: remaining r[2]
-- rlctl: retry_after r[3] us
-- rlctl: reset_after r[4] us

local FOREIGN = 'WRONGTYPE sliding-window-log: KEYS[%d] must hold a list of microseconds, ' ..
                'oldest first'

local length, gone -- units stored, and how many of them have left the window
local time, newest -- the key's time, and the time of the newest unit
local reset_if_allowed = 0

-- [arguments] The same in every script, but for its name, its costs and its last arguments. Locals,
-- since each access to a global costs server time.
local KEYS, ARGV, tonumber, call, pcall = KEYS, ARGV, tonumber, redis.call, redis.pcall
local n, given = #KEYS, #ARGV
if n == 0 then
  return redis.error_reply('ERR sliding-window-log: KEYS must have one key for each limit, not ' ..
                           "'0 keys'")
end
local cost, now, margin = 1, '', 0
if given > 3 * n then
  cost, now = ARGV[3 * n + 1], ARGV[3 * n + 2] or ''
  if given > 3 * n + 2 then
    return redis.error_reply('ERR sliding-window-log: ARGV must be limit, window, burst per ' ..
                             "key, then cost, now, not '" .. ARGV[3 * n + 3] .. "'")
  end
  cost = cost == '' and 1 or tonumber(cost)
  if not (cost and cost >= -10000 and cost <= 10000 and cost % 1 == 0) then
    return redis.error_reply('ERR sliding-window-log: cost must be a whole number from -10000 ' ..
                             "to 10000 (gcra takes more), not '" .. ARGV[3 * n + 1] .. "'")
  end
end
if now == '' then
  now = call('TIME')
  now = now[1] * 1000000 + now[2]
else
  now, margin = tonumber(now), 3600000000 -- TTLs last an hour longer: the caller's clock may lag
  if not (now and now >= 0 and now <= 4e15 and now % 1 == 0) then
    return redis.error_reply('ERR sliding-window-log: now must be a whole number of ' ..
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
    return redis.error_reply('ERR sliding-window-log: limit of KEYS[' .. i .. '] must be a ' ..
                             "whole number from 1 to 1e9, not '" .. (ARGV[3 * i - 2] or '') .. "'")
  end
  if not (window and window >= 1000 and window <= 1e14 and window % 1 == 0) then
    return redis.error_reply('ERR sliding-window-log: window of KEYS[' .. i .. '] must be a ' ..
                             'whole number of microseconds from 1000 to 1e14 (60 s is ' ..
                             "60000000), not '" .. (ARGV[3 * i - 1] or '') .. "'")
  end
  if given >= 3 * i and ARGV[3 * i] ~= '' then
    return redis.error_reply('ERR sliding-window-log: burst of KEYS[' .. i .. '] must be left ' ..
                             "out, not '" .. ARGV[3 * i] .. "'")
  end
  if kept and kept[key] then
    return redis.error_reply('ERR sliding-window-log: KEYS[' .. i .. '] must be a key of its ' ..
                             "own, not '" .. key .. "'")
  end
  -- [/limits]

  length = pcall('LLEN', key) -- an error is a table, and the calls below then fail likewise
  local oldest
  gone, time = 0, now
  if length ~= 0 then
    newest = tonumber(pcall('LINDEX', key, '-1'))
    oldest = length == 1 and newest or tonumber(pcall('LINDEX', key, '0'))
    -- Small numbers that nothing lets expire, such as IDs, are another program's.
    if not (newest and newest % 1 == 0 and newest <= 4e15 and
            oldest and oldest >= 0 and oldest <= newest) or
       oldest < 1e15 and now >= 1e15 and pcall('PTTL', key) == -1 then
      if type(length) == 'number' then call('LINDEX', key, '0') end -- raises what an ACL refuses
      return type(length) == 'table' and not string.find(length.err, 'WRONGTYPE') and length or
             redis.error_reply(FOREIGN:format(i))
    end
    if newest > now then time = newest end
    if newest <= time - window then
      gone = length
    elseif oldest <= time - window then
      -- Find the first live unit: double the step, then bisect. Few calls, however many have left.
      local low, high, step = 0, length - 1, 1
      while high - low > 1 do
        local middle = low + step < high and low + step or math.floor((low + high) / 2)
        local at = tonumber(call('LINDEX', key, middle))
        if not at then return redis.error_reply(FOREIGN:format(i)) end
        if at <= time - window then
          low, step = middle, step * 2
        else
          high, step = middle, length
        end
      end
      gone = high
    end
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
      local at = last == 0 and oldest or tonumber(call('LINDEX', key, last))
      if not at then return redis.error_reply(FOREIGN:format(i)) end
      wait = at + window - now
    end
    if wait > retry_after then retry_after, denied_by = wait, i end
  end
  if limit - used < remaining then remaining = limit - used end
  if reset > reset_after then reset_after = reset end
  if time + window - now > reset_if_allowed then reset_if_allowed = time + window - now end
  if i < n then
    kept[key] = denied_by > 0 or
                {window = window, length = length, gone = gone, time = time, newest = newest}
  end
end

if remaining < 0 then remaining = 0 end
if retry_after == NEVER then retry_after = -1 end
if denied_by > 0 then return {0, remaining, retry_after, reset_after, 0, denied_by} end
if cost == 0 then return {1, remaining, 0, reset_after, 0, 0} end

for i = n, 1, -1 do
  if i < n then
    key = KEYS[i]
    local its = kept[key]
    window, length, gone, time, newest = its.window, its.length, its.gone, its.time, its.newest
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
  if cost > 0 then
    local unit = string.format('%d', time)
    if cost == 1 then
      call('RPUSH', key, unit)
    else
      local units, rest = {}, cost
      for j = 1, math.min(cost, 1000) do units[j] = unit end
      while rest > 0 do
        call('RPUSH', key, unpack(units, 1, math.min(rest, 1000)))
        rest = rest - 1000
      end
    end
  end
  if cost < 0 and gone == length then
    if length > 0 then call('UNLINK', key) end
  else
    if gone > 0 then call('LTRIM', key, gone, '-1') end
    if left < needed then call('PEXPIRE', key, string.format('%d', ttl)) end
  end
end
if cost < 0 then return {1, remaining, 0, reset_after, 0, 0} end
return {1, remaining - cost, 0, reset_if_allowed, 0, 0}
