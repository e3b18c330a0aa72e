-- sliding-window-log: allows at most `limit` units in any span of one `window`, exactly. It takes
-- about ten bytes per unit. The default algorithm.
--
-- KEYS    one key for each limit; if any key denies the request, none records it
-- ARGV    for each key  limit   1 to 1e9
--                       window  1 to 1e14 microseconds
--                       burst   must be empty: this algorithm has no burst
--         then          cost    -10000 to 10000, default 1; 0 peeks, a negative cost refunds
--                       now     0 to 4e15 microseconds since 1970, default: the server's clock
--         Empty arguments, and those omitted at the end, take their defaults.
-- Reply   {allowed, remaining, retry_after, reset_after, delay, denied_by}; times in microseconds,
--         retry_after is -1 if the request can never be allowed
-- Errors  ERR for an invalid argument, WRONGTYPE for a key with other content; nothing is written
-- Stored  a list: the time of every allowed unit in microseconds since 1970, oldest first

local NAME, HAS_BURST, MIN_COST, MAX_COST = 'sliding-window-log', false, -10000, 10000
local COSTS = 'from -10000 to 10000 (gcra takes more)'
local STATE = 'a list of microseconds, oldest first'

local length, gone -- units stored, and how many of them have left the window
local time, newest -- the key's time, and the time of the newest unit
local reset_if_allowed = 0

-- [arguments] These lines are the same in every script.
-- Locals, because each access to a global costs noticeable server time.
local KEYS, ARGV, tonumber, call, pcall = KEYS, ARGV, tonumber, redis.call, redis.pcall
local n = #KEYS
if n == 0 then
  return redis.error_reply('ERR ' .. NAME .. ': KEYS must have one key for each limit, not none')
end
if ARGV[3 * n + 3] then
  return redis.error_reply('ERR ' .. NAME .. ': ARGV must have limit, window and burst for each ' ..
                           "key, then cost and now, not '" .. ARGV[3 * n + 3] .. "' after them")
end
local cost, now, margin = ARGV[3 * n + 1], ARGV[3 * n + 2], 0
if not cost or cost == '' then
  cost = 1
else
  cost = tonumber(cost)
  if not (cost and cost >= MIN_COST and cost <= MAX_COST and cost % 1 == 0) then
    return redis.error_reply('ERR ' .. NAME .. ': cost must be a whole number ' .. COSTS ..
                             ", not '" .. ARGV[3 * n + 1] .. "'")
  end
end
if not now or now == '' then
  now = call('TIME')
  now = now[1] * 1000000 + now[2]
else
  now = tonumber(now)
  if not (now and now >= 0 and now <= 4e15 and now % 1 == 0) then
    return redis.error_reply('ERR ' .. NAME .. ': now must be a whole number of microseconds ' ..
                             "from 0 to 4e15, not '" .. ARGV[3 * n + 2] .. "'")
  end
  margin = 3600000000 -- one hour: TTLs follow the server's clock; the caller's may lag behind it
end

local remaining, retry_after, reset_after, denied_by = 1e10, 0, 0, 0
local key, limit, window, burst -- of the current key; after the loop, of the last key
local kept = n > 1 and {}       -- the results of the loop by key, but for the last key
for i = 1, n do
  key, burst = KEYS[i], ARGV[3 * i]
  limit, window = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1])
  if not (limit and limit >= 1 and limit <= 1e9 and limit % 1 == 0) then
    return redis.error_reply('ERR ' .. NAME .. ': limit must be a whole number ' ..
                             "from 1 to 1e9, not '" .. (ARGV[3 * i - 2] or '') .. "'")
  end
  if not (window and window >= 1 and window <= 1e14 and window % 1 == 0) then
    return redis.error_reply('ERR ' .. NAME .. ': window must be a whole number of microseconds ' ..
                             "from 1 to 1e14, not '" .. (ARGV[3 * i - 1] or '') .. "'")
  end
  if not burst or burst == '' then
    burst = limit
  else
    burst = HAS_BURST and tonumber(burst)
    if not (burst and burst >= 1 and burst <= 1e9 and burst % 1 == 0) then
      return redis.error_reply('ERR ' .. NAME .. ': burst must be ' ..
                               (HAS_BURST and 'a whole number from 1 to 1e9' or 'left out') ..
                               ", not '" .. ARGV[3 * i] .. "'")
    end
  end
  if HAS_BURST and not (limit * burst <= 9007199254740992 and burst * window <= limit * 4e15) then
    return redis.error_reply('ERR ' .. NAME .. ': burst must be such that limit * burst <= 2^53 ' ..
                             'and burst * window / limit <= 4e15, not ' ..
                             string.format("'%d'", burst))
  end
  if kept and kept[key] then
    return redis.error_reply('ERR ' .. NAME .. ": KEYS must differ, not be '" .. key .. "' twice")
  end
  -- [/arguments]

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
             redis.error_reply('WRONGTYPE ' .. NAME .. ': KEYS[' .. i .. '] must hold ' .. STATE)
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
        if not at then
          return redis.error_reply('WRONGTYPE ' .. NAME .. ': KEYS[' .. i .. '] must hold ' ..
                                   STATE)
        elseif at <= time - window then
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
    if denied_by == 0 then denied_by = i end
    if cost > limit then
      retry_after = -1
    elseif retry_after >= 0 then
      local leaving = gone + used + cost - limit - 1
      local at = leaving == 0 and oldest or tonumber(call('LINDEX', key, leaving))
      if not at then
        return redis.error_reply('WRONGTYPE ' .. NAME .. ': KEYS[' .. i .. '] must hold ' .. STATE)
      end
      if at + window - now > retry_after then retry_after = at + window - now end
    end
  end
  if limit - used < remaining then remaining = limit - used end
  if reset > reset_after then reset_after = reset end
  if time + window - now > reset_if_allowed then reset_if_allowed = time + window - now end
  if i < n then kept[key] = {key, window, length, gone, time, newest} end
end

if remaining < 0 then remaining = 0 end
if denied_by > 0 then return {0, remaining, retry_after, reset_after, 0, denied_by} end
if cost == 0 then return {1, remaining, 0, reset_after, 0, 0} end

for i = n, 1, -1 do
  if i < n then key, window, length, gone, time, newest = unpack(kept[KEYS[i]]) end
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
