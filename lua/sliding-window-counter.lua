-- sliding-window-counter: estimates a sliding window from two counters. The previous window's units
-- count in proportion to the overlap that is left. Almost twice the limit can pass.
--
-- KEYS    one key for each limit; if any key denies the request, none records it
-- ARGV    for each key  limit   1 to 1e9
--                       window  1 to 1e14 microseconds
--                       burst   must be empty: this algorithm has no burst
--         then          cost    -1e9 to 1e9, default 1; 0 peeks, a negative cost refunds
--                       now     0 to 4e15 microseconds since 1970, default: the server's clock
--         Empty arguments, and those omitted at the end, take their defaults.
-- Reply   {allowed, remaining, retry_after, reset_after, delay, denied_by}; times in microseconds,
--         retry_after is -1 if the request can never be allowed
-- Errors  ERR for an invalid argument, WRONGTYPE for a key with other content; nothing is written
-- Stored  a string of 36 bytes, struct.pack('<c8dI4I4I4d', 'counter ', START, PREVIOUS, CURRENT,
--         LIMIT, WINDOW); 'counter~' if the call that began this window gave now

local NAME, HAS_BURST, MIN_COST, MAX_COST = 'sliding-window-counter', false, -1e9, 1e9
local COSTS = 'from -1e9 to 1e9'
local STATE = "a string 'counter ' with START, PREVIOUS, CURRENT, LIMIT, WINDOW"

local tag, start, previous, current, span -- of the window in force; tag is nil if nothing is stored
local same -- whether the stored limit and window are those of this call
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

  local state = pcall('GET', key)
  tag, start, previous, current, span, same = nil, now - now % window, 0, 0, window, false
  if state then
    local s, p, c, l, w
    if #state == 36 then -- an error is a table without elements
      tag, s, p, c, l, w = struct.unpack('<c8dI4I4I4d', state)
    end
    if not ((tag == 'counter ' or tag == 'counter~') and s >= 0 and s <= 9e15 and
            p <= 1e9 and c <= 1e9 and w >= 1 and w <= 1e14) then
      return type(state) == 'table' and not string.find(state.err, 'WRONGTYPE') and state or
             redis.error_reply('WRONGTYPE ' .. NAME .. ': KEYS[' .. i .. '] must hold ' .. STATE)
    end
    same = l == limit and w == window
    if now < s + w then
      start, previous, current, span = s, p, c, w
    else
      tag = 'over'
      if now < s + 2 * w then start, previous, current, span = s + w, c, 0, w end
    end
  end

  local elapsed = now > start and now - start or 0
  local carried = previous * (span - elapsed) / span
  if cost < 0 then
    current = current > -cost and current + cost or 0
  elseif cost > 0 and carried + current + cost > limit then
    if denied_by == 0 then denied_by = i end
    if cost > limit then
      retry_after = -1
    elseif retry_after >= 0 then
      -- The first microsecond at which the request fits: in this window, from now on; else in the
      -- next, which `current` carries into; else at its end. Guess, then bisect if rounding is off.
      local from, over, own, low, at = start, previous, current, elapsed, span
      if over / span + own + cost > limit then
        from, over, own, low = start + span, current, 0, -1
      end
      if over / span + own + cost <= limit then
        at = span - (limit - own - cost) * span / over
        at = at + -at % 1 -- rounded up; NaN if over is 0
        at = at > low and at or low + 1
        if at >= span then at = span - 1 end
        if over * (span - at) / span + own + cost > limit or
           at > low + 1 and over * (span - (at - 1)) / span + own + cost <= limit then
          at = span - 1
          while at - low > 1 do
            local middle = math.floor((low + at) / 2)
            if over * (span - middle) / span + own + cost <= limit then
              at = middle
            else
              low = middle
            end
          end
        end
      end
      if from + at - now > retry_after then retry_after = from + at - now end
    end
  end

  -- How many requests of cost 1 would be allowed in turn. The sum that decides each one is coarser
  -- than this difference: where it rounds down to the limit, one more is let in.
  local left = limit - carried - current
  left = left - left % 1
  if carried + (current + left) + 1 <= limit then left = left + 1 end
  if left < remaining then remaining = left end
  local reset = current > 0 and start + 2 * span - now or previous > 0 and start + span - now or 0
  if reset > reset_after then reset_after = reset end
  if start + 2 * span - now > reset_if_allowed then reset_if_allowed = start + 2 * span - now end
  if i < n then kept[key] = {key, limit, tag, start, previous, current, span, same} end
end

if remaining < 0 then remaining = 0 end
if denied_by > 0 then return {0, remaining, retry_after, reset_after, 0, denied_by} end
if cost == 0 then return {1, remaining, 0, reset_after, 0, 0} end

for i = n, 1, -1 do
  if i < n then key, limit, tag, start, previous, current, span, same = unpack(kept[KEYS[i]]) end
  if cost > 0 then current = current + cost end
  local ttl = (start + 2 * span - now + margin + 999) / 1000
  if previous == 0 and current == 0 then
    if tag then call('DEL', key) end
  elseif tag and tag ~= 'over' then
    if same then
      call('SETRANGE', key, '20', struct.pack('<I4', current))
    else
      call('SET', key, struct.pack('<c8dI4I4I4d', tag, start, previous, current, limit, span),
           'KEEPTTL')
    end
    -- A TTL set by the server's clock lasts until the next window ends: no need to check it.
    if (margin > 0 or tag == 'counter~') and call('PTTL', key) < ttl then
      call('PEXPIRE', key, string.format('%d', ttl * 1.25))
    end
  else
    -- With the caller's clock, 25 % longer than needed, so that not every call has to set it.
    if margin > 0 then ttl = ttl * 1.25 end
    if tag then ttl = math.max(ttl, call('PTTL', key)) end
    tag = margin > 0 and 'counter~' or 'counter '
    call('SET', key, struct.pack('<c8dI4I4I4d', tag, start, previous, current, limit, span),
         'PX', string.format('%d', ttl))
  end
end
if cost < 0 then return {1, remaining, 0, reset_after, 0, 0} end
return {1, remaining > cost and remaining - cost or 0, 0, reset_if_allowed, 0, 0}
