-- leaky-bucket: a queue whose requests depart `window` / `limit` apart. Up to `burst` may wait;
-- an allowed request is told how long, so traffic is shaped rather than rejected.
--
-- KEYS    one key for each limit: all allow and all record, or none does
-- ARGV    for each key  limit   1 to 1e9
--                       window  1 to 1e14 microseconds
--                       burst   1 to 1e9, default limit; limit * burst at most 2^53,
--                               burst * window / limit at most 4e15
--         then          cost    0 to 1e9, default 1; 0 looks; a departure cannot be refunded
--                       now     0 to 4e15 microseconds since 1970, default the server's clock
--         What is left out at the end, or is empty, takes its default.
-- Reply   {allowed, remaining, retry_after, reset_after, delay, denied_by}; times in microseconds,
--         retry_after -1 for never
-- Errors  ERR for a wrong argument, WRONGTYPE for a key that holds something else: nothing written
-- Stored  a string, 'leaky LAST REMAINDER LIMIT WINDOW BURST': the last departure taken is at
--         LAST + REMAINDER / LIMIT microseconds; LAST has 16 digits, REMAINDER 9, the others as
--         many as they need; 'leaky~' once a caller's clock wrote

local NAME, HAS_BURST, MIN_COST, MAX_COST = 'leaky-bucket', true, 0, 1e9
local COSTS = 'from 0 to 1e9 (a departure cannot be refunded)'
local STATE = "a string 'leaky LAST REMAINDER LIMIT WINDOW BURST'"

-- Exact times: departures are whole + part / limit microseconds apart, and the next one that is
-- free lies ahead + rest / limit microseconds after now.
local stored, whole, part, ahead, rest
local mark, same, second -- of what is stored: '~' or ' ', the same limits, the departure's second

-- a * b / c, whole, and the rest, exactly for a, b and c up to 1e9: doubles are exact to 2^53 only,
-- so a is taken in two parts.
local function divide(a, b, c)
  local low = a % 32768
  local high = (a - low) / 32768 * b
  local carry = high % c
  local sum = carry * 32768 + low * b
  return (high - carry) / c * 32768 + (sum - sum % c) / c, sum % c
end

-- [arguments] These lines are the same in every script.
-- Locals, since each look at a global is felt in server time.
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
  margin = 3600000000 -- the caller's clock may be slower than the server's, which counts the TTL
end

local remaining, retry_after, reset_after, denied_by = 1e10, 0, 0, 0
local key, limit, window, burst -- of the key at hand; after the loop, of the last one
local kept = n > 1 and {}       -- what the loop leaves of the keys before the last one
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
  for j = 1, kept and i - 1 or 0 do
    if KEYS[j] == key then
      return redis.error_reply('ERR ' .. NAME .. ": KEYS must differ, not be '" .. key .. "' twice")
    end
  end
  -- [/arguments]

  part = window % limit
  whole, ahead, rest, same, second = (window - part) / limit, 0, 0, false, false
  mark = margin > 0 and '~' or ' '
  stored = pcall('GET', key)
  if stored then
    local tag, t, r, l
    if #stored > 33 then -- not an error, which is a table
      tag, t, r = struct.unpack('c6c16xc9', stored)
      t, r, l = tonumber(t), tonumber(r), limit
      same = string.sub(stored, 34) == ARGV[3 * i - 2] .. ' ' .. ARGV[3 * i - 1] .. ' ' ..
             (burst == limit and ARGV[3 * i - 2] or ARGV[3 * i])
      if not same then l = tonumber(string.match(stored, '^(%d+) %d+ %d+$', 34)) end
    end
    if not (t and t >= 0 and t <= 9e15 and r and r >= 0 and l and r < l and
            (tag == 'leaky ' or tag == 'leaky~')) then
      return type(stored) == 'table' and not string.find(stored.err, 'WRONGTYPE') and stored or
             redis.error_reply('WRONGTYPE ' .. NAME .. ': KEYS[' .. i .. '] must hold ' .. STATE)
    end
    -- As long as only the server's clock wrote, the TTL lasts an interval beyond the end of the
    -- departure's second.
    if tag == 'leaky~' then mark = '~' elseif same and margin == 0 then second = t - t % 1000000 end
    same = same and (margin == 0 or tag == 'leaky~')
    if l ~= limit and r > 0 then
      local over
      r, over = divide(r, limit, l)
      if over > 0 then r = r + 1 end
    end
    ahead, rest = t + whole - now, r + part
    if rest >= limit then ahead, rest = ahead + 1, rest - limit end
    if ahead < 0 then ahead, rest = 0, 0 end
  end

  -- The departures between now and the next free one, a begun interval counted whole: the nearest
  -- number by division, which one exact comparison sets right. One more than `burst` may wait.
  local used = (ahead * limit + rest) / window + 0.5
  used = used - used % 1
  if used <= burst then
    local parts = used * part % limit
    local micros = used * whole + (used * part - parts) / limit
    if micros < ahead or micros == ahead and parts < rest then used = used + 1 end
  end
  if cost > 0 and burst + 1 - used < cost then
    if denied_by == 0 then denied_by = i end
    if cost > burst + 1 then
      retry_after = -1
    elseif retry_after >= 0 then
      local room = burst + 1 - cost
      local parts = room * part % limit
      local wait = ahead - room * whole - (room * part - parts) / limit + (rest > parts and 1 or 0)
      if wait > retry_after then retry_after = wait end
    end
  end
  if burst + 1 - used < remaining then remaining = burst + 1 - used end
  local reset = rest > 0 and ahead + 1 or ahead
  if reset > reset_after then reset_after = reset end
  if i < n then
    kept[i] = {key, limit, window, burst, stored, whole, part, ahead, rest, mark, same, second}
  end
end

if remaining < 0 then remaining = 0 end
if denied_by > 0 or cost == 0 then
  return {denied_by > 0 and 0 or 1, remaining, retry_after, reset_after, 0, denied_by}
end

local delay = reset_after -- the longest over the keys until a departure is free
for i = n, 1, -1 do
  if i < n then
    key, limit, window, burst, stored, whole, part, ahead, rest, mark, same, second =
      unpack(kept[i])
  end
  -- The last departure taken, and the next one that is free after it.
  local parts = (cost - 1) * part % limit
  local last = ahead + (cost - 1) * whole + ((cost - 1) * part - parts) / limit
  rest = rest + parts
  if rest >= limit then last, rest = last + 1, rest - limit end
  local reset = last + whole + (rest + part > limit and 2 or rest + part > 0 and 1 or 0)
  if reset > reset_after then reset_after = reset end
  -- An interval beyond the end of the departure's second, and a quarter longer, so that not every
  -- call must look at the TTL or set it.
  last = now + last
  local begins = last - last % 1000000
  local ttl = (begins + 1000000 + whole + 1 - now + margin + 999) / 1000
  if same then
    call('SETRANGE', key, '6', string.format('%016d %09d', last, rest))
  else
    local text = string.format('leaky%s%016d %09d %d %d %d', mark, last, rest, limit, window, burst)
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
return {1, remaining - cost, 0, reset_after, delay, 0}
