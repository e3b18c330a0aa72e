-- gcra: the generic cell rate algorithm (ITU-T I.371). A bucket of `burst` units refills at `limit`
-- per `window`. Its state is a single time, and all arithmetic is exact, in whole numbers.
--
-- KEYS    one key for each limit; if any key denies the request, none records it
-- ARGV    for each key  limit   1 to 1e9
--                       window  1 to 1e14 microseconds
--                       burst   1 to 1e9, default: limit; limit * burst at most 2^53,
--                               burst * window / limit at most 4e15
--         then          cost    -1e9 to 1e9, default 1; 0 peeks, a negative cost refunds
--                       now     0 to 4e15 microseconds since 1970, default: the server's clock
--         Empty arguments, and those omitted at the end, take their defaults.
-- Reply   {allowed, remaining, retry_after, reset_after, delay, denied_by}; times in microseconds,
--         retry_after is -1 if the request can never be allowed
-- Errors  ERR for an invalid argument, WRONGTYPE for a key with other content; nothing is written
-- Stored  a string of 33 bytes, struct.pack('<c5dI4I4dI4', 'gcra ', TAT, REMAINDER, LIMIT,
--         WINDOW, BURST): the theoretical arrival time is TAT + REMAINDER / LIMIT
--         microseconds; 'gcra~' once a call that gave now has written

local NAME, HAS_BURST, MIN_COST, MAX_COST = 'gcra', true, -1e9, 1e9
local COSTS = 'from -1e9 to 1e9'
local STATE = "a string 'gcra ' with TAT, REMAINDER, LIMIT, WINDOW, BURST"

-- Exact times: a unit takes whole + part / limit microseconds, and the theoretical arrival time
-- (TAT) is ahead + rest / limit microseconds after now.
local stored, whole, part, ahead, rest
local mark, same, second -- '~' or ' '; whether the stored limits are this call's; the TAT's second

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

  part = window % limit
  whole, ahead, rest, same, second = (window - part) / limit, 0, 0, false, false
  mark = margin > 0 and '~' or ' '
  stored = pcall('GET', key)
  local l = limit -- the stored one
  if stored then
    local tag, t, r, w, b
    if #stored == 33 then -- an error is a table without elements
      tag, t, r, l, w, b = struct.unpack('<c5dI4I4dI4', stored)
    end
    if not ((tag == 'gcra ' or tag == 'gcra~') and t >= 0 and t <= 9e15 and r < l) then
      return type(stored) == 'table' and not string.find(stored.err, 'WRONGTYPE') and stored or
             redis.error_reply('WRONGTYPE ' .. NAME .. ': KEYS[' .. i .. '] must hold ' .. STATE)
    end
    -- If every write used the server's clock, the TTL lasts until the end of the TAT's second.
    if tag == 'gcra~' then mark = '~' elseif margin == 0 then second = t - t % 1000000 end
    same = l == limit and w == window and b == burst and (margin == 0 or tag == 'gcra~')
    if t >= now then ahead, rest = t - now, r end
  end
  if cost < 0 or rest > 0 and l ~= limit then
    -- Returns the quotient and the remainder of a * b / c, exactly, for a, b and c up to 1e9.
    -- Doubles are exact only up to 2^53, so a is split into two parts.
    local function divide(a, b, c)
      local low = a % 32768
      local high = (a - low) / 32768 * b
      local carry = high % c
      local sum = carry * 32768 + low * b
      return (high - carry) / c * 32768 + (sum - sum % c) / c, sum % c
    end
    if l ~= limit then
      local over
      rest, over = divide(rest, limit, l)
      if over > 0 then rest = rest + 1 end
      if rest == limit then ahead, rest = ahead + 1, 0 end
    end
    if cost < 0 then
      local back, parts = divide(-cost, part, limit)
      ahead, rest = ahead - back + cost * whole, rest - parts
      if rest < 0 then ahead, rest = ahead - 1, rest + limit end
      if ahead < 0 then ahead, rest = 0, 0 end
    end
  end

  -- The units between now and the TAT, rounded up: division gives the nearest whole number, and one
  -- exact comparison corrects it.
  local used = (ahead * limit + rest) / window + 0.5
  used = used - used % 1
  if used <= burst then
    local parts = used * part % limit
    local micros = used * whole + (used * part - parts) / limit
    if micros < ahead or micros == ahead and parts < rest then used = used + 1 end
  end
  if cost > 0 and burst - used < cost then
    if denied_by == 0 then denied_by = i end
    if cost > burst then
      retry_after = -1
    elseif retry_after >= 0 then
      local room = burst - cost
      local parts = room * part % limit
      local wait = ahead - room * whole - (room * part - parts) / limit + (rest > parts and 1 or 0)
      if wait > retry_after then retry_after = wait end
    end
  end
  if burst - used < remaining then remaining = burst - used end
  local reset = rest > 0 and ahead + 1 or ahead
  if reset > reset_after then reset_after = reset end
  if i < n then
    kept[key] = {key, limit, window, burst, stored, whole, part, ahead, rest, mark, same, second}
  end
end

if remaining < 0 then remaining = 0 end
if denied_by > 0 or cost == 0 then
  return {denied_by > 0 and 0 or 1, remaining, retry_after, reset_after, 0, denied_by}
end

for i = n, 1, -1 do
  if i < n then
    key, limit, window, burst, stored, whole, part, ahead, rest, mark, same, second =
      unpack(kept[KEYS[i]])
  end
  if cost > 0 then
    local parts = cost * part % limit
    ahead, rest = ahead + cost * whole + (cost * part - parts) / limit, rest + parts
    if rest >= limit then ahead, rest = ahead + 1, rest - limit end
  end
  local reset = rest > 0 and ahead + 1 or ahead
  if reset == 0 then
    if stored then call('DEL', key) end
  else
    if reset > reset_after then reset_after = reset end
    -- Until the end of the TAT's second, and 25 % longer, so that not every call must check or set
    -- the TTL.
    local tat = now + ahead
    local begins = tat - tat % 1000000
    local ttl = (begins + 1000000 - now + margin + 999) / 1000
    if same then
      call('SETRANGE', key, '5', struct.pack('<dI4', tat, rest))
    else
      local text = struct.pack('<c5dI4I4dI4', 'gcra' .. mark, tat, rest, limit, window, burst)
      if stored then
        call('SET', key, text, 'KEEPTTL')
      else
        call('SET', key, text, 'PX', string.format('%d', ttl * 1.25))
      end
    end
    if stored and second ~= begins and call('PTTL', key) < ttl then
      call('PEXPIRE', key, string.format('%d', ttl * 1.25))
    end
  end
end
return {1, cost > 0 and remaining - cost or remaining, 0, reset_after, 0, 0}
