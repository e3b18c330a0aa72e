-- sliding-window-counter: estimates a sliding window from two counters. The previous window's units
-- count in proportion to the overlap that is left. Almost twice the limit can pass.
--
-- KEYS    one key for each limit; if any key denies the request, none records it
-- ARGV    for each key  limit   1 to 1e9
--                       window  1000 to 1e14 microseconds: 60 s is 60000000
--                       burst   must be empty: this algorithm has no burst
--         then          cost    -1e9 to 1e9, default 1; 0 peeks, a negative cost refunds
--                       now     0 to 4e15 microseconds since 1970, default: the server's clock
--         Empty arguments, and those omitted at the end, take their defaults.
-- Reply   {allowed, remaining, retry_after, reset_after, delay, denied_by}; times in microseconds,
--         retry_after is -1 for never; denied_by is the number of the key to wait longest for
-- Errors  ERR for an invalid argument, WRONGTYPE for a key with other content; nothing is written
-- Stored  a string of 36 bytes, struct.pack('<c8dI4I4I4d', 'counter ', START, PREVIOUS, CURRENT,
--         LIMIT, WINDOW); 'counter~' if a call that gave now began or extended this window
--
-- rlctl: keys {key}
-- rlctl: args {limit} {window_us} '' {cost}
-- rlctl: allowed r[1] == 1
-- rlctl: remaining r[2]
-- rlctl: retry_after r[3] us
-- rlctl: reset_after r[4] us

local start, previous, current, span -- of the window in force
local stored, tag -- the string, or false; its tag, if its window has not ended
local same -- whether a write changes nothing but CURRENT
local reset_if_allowed = 0

-- [arguments] The same in every script, but for its name, its costs and its last arguments. Locals,
-- since each access to a global costs server time.
local KEYS, ARGV, tonumber, call, pcall = KEYS, ARGV, tonumber, redis.call, redis.pcall
local n, given = #KEYS, #ARGV
if n == 0 then
  return redis.error_reply('ERR sliding-window-counter: KEYS must have one key for each limit, ' ..
                           "not '0 keys'")
end
local cost, now, margin = 1, '', 0
if given > 3 * n then
  cost, now = ARGV[3 * n + 1], ARGV[3 * n + 2] or ''
  if given > 3 * n + 2 then
    return redis.error_reply('ERR sliding-window-counter: ARGV must be limit, window, burst per ' ..
                             "key, then cost, now, not '" .. ARGV[3 * n + 3] .. "'")
  end
  cost = cost == '' and 1 or tonumber(cost)
  if not (cost and cost >= -1e9 and cost <= 1e9 and cost % 1 == 0) then
    return redis.error_reply('ERR sliding-window-counter: cost must be a whole number from -1e9 ' ..
                             "to 1e9, not '" .. ARGV[3 * n + 1] .. "'")
  end
end
if now == '' then
  now = call('TIME')
  now = now[1] * 1000000 + now[2]
else
  now, margin = tonumber(now), 3600000000 -- TTLs last an hour longer: the caller's clock may lag
  if not (now and now >= 0 and now <= 4e15 and now % 1 == 0) then
    return redis.error_reply('ERR sliding-window-counter: now must be a whole number of ' ..
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
    return redis.error_reply('ERR sliding-window-counter: limit of KEYS[' .. i .. '] must be a ' ..
                             "whole number from 1 to 1e9, not '" .. (ARGV[3 * i - 2] or '') .. "'")
  end
  if not (window and window >= 1000 and window <= 1e14 and window % 1 == 0) then
    return redis.error_reply('ERR sliding-window-counter: window of KEYS[' .. i .. '] must be a ' ..
                             'whole number of microseconds from 1000 to 1e14 (60 s is ' ..
                             "60000000), not '" .. (ARGV[3 * i - 1] or '') .. "'")
  end
  if given >= 3 * i and ARGV[3 * i] ~= '' then
    return redis.error_reply('ERR sliding-window-counter: burst of KEYS[' .. i .. '] must be ' ..
                             "left out, not '" .. ARGV[3 * i] .. "'")
  end
  if kept and kept[key] then
    return redis.error_reply('ERR sliding-window-counter: KEYS[' .. i .. '] must be a key of ' ..
                             "its own, not '" .. key .. "'")
  end
  -- [/limits]

  stored, tag, previous, current, span, same = pcall('GET', key), nil, 0, 0, window, false
  start = now - now % window
  -- The window of this call ends at `ends`; `later` if that is after the end of the one in force.
  local ends, later, old_limit = start + window, false, limit
  if stored then
    local old_start, old_previous, old_current, old_window
    if #stored == 36 then -- an error is a table without elements
      tag, old_start, old_previous, old_current, old_limit, old_window =
        struct.unpack('<c8dI4I4I4d', stored)
    end
    if not ((tag == 'counter ' or tag == 'counter~') and old_start >= 0 and old_start <= 9e15 and
            old_previous <= 1e9 and old_current <= 1e9 and
            old_window >= 1 and old_window <= 1e14) then
      if stored.err and not string.find(stored.err, 'WRONGTYPE') then return stored end
      return redis.error_reply('WRONGTYPE sliding-window-counter: KEYS[' .. i .. '] must hold a ' ..
                               "string 'counter ' with START, PREVIOUS, CURRENT, LIMIT, WINDOW")
    end
    local ended = old_start + old_window
    if now >= ended then tag = nil end
    if now < ended then
      start, previous, current, span = old_start, old_previous, old_current, old_window
    elseif now < ended + old_window then
      start, previous, current, span = ended, old_current, 0, old_window
    end
    later = window ~= span and ends > start + span
    same = cost < 0 or old_limit == limit and not later
  end

  local elapsed = now > start and now - start or 0
  local carried = later and previous or previous * (span - elapsed) / span
  if cost < 0 then
    current = current > -cost and current + cost or 0
  elseif cost > 0 and carried + current + cost > limit then
    local wait = NEVER
    if cost <= limit then
      -- The request fits in this window, or in the next one, or at the end of that. Until `last`,
      -- the units `over` lose weight; after it, the window of this call would end later, and they
      -- would count in full.
      local from, over, own, low, at = start, previous, current, elapsed, span
      local last = (window == span and span or span - (from + span) % window) - 1
      if last <= low or over * (span - last) / span + own + cost > limit then
        from, over, own, low = start + span, current, 0, -1
        last = window == span and last or math.max(0, span - (from + span) % window - 1)
      end
      if over * (span - last) / span + own + cost <= limit then
        at = span - (limit - own - cost) * span / over
        at = at + -at % 1 -- rounded up; NaN if over is 0
        at = at > low and at or low + 1
        if at > last then at = last end
        if over * (span - at) / span + own + cost > limit or
           at > low + 1 and over * (span - (at - 1)) / span + own + cost <= limit then
          at = last -- Rounding has shifted the guess, so bisect.
          while at - low > 1 do
            local half = math.floor((low + at) / 2)
            if over * (span - half) / span + own + cost <= limit then at = half else low = half end
          end
        end
      end
      wait = from + at - now
    end
    if wait > retry_after then retry_after, denied_by = wait, i end
  end

  -- As many requests of cost 1 would be allowed in turn. The sum that decides about each is coarser
  -- than this difference: where it rounds down to the limit, one more is allowed. A shorter window
  -- begins with the first, and what is carried into it is rounded up.
  local shorter = cost >= 0 and stored and not tag and span ~= window and not later
  local left = shorter and limit - math.ceil(carried) or limit - carried - current
  left = left - left % 1
  if carried + (current + left) + 1 <= limit and not (shorter and left > 0) then left = left + 1 end
  if left < remaining then remaining = left end
  local reset = current > 0 and start + 2 * span - now or previous > 0 and start + span - now or 0
  if reset > reset_after then reset_after = reset end
  if cost < 0 then
    limit = old_limit
  elseif later then
    start, previous, current, span = ends - window, 0, previous + current, window
    if margin > 0 then tag = 'counter~' end
  elseif shorter then
    -- What is carried counts in it. The sum that allowed the request may have rounded it down.
    current = math.min(math.ceil(carried), limit - cost)
    start, previous, span = ends - window, 0, window
  end
  if start + 2 * span - now > reset_if_allowed then reset_if_allowed = start + 2 * span - now end
  if i < n then
    kept[key] = denied_by > 0 or {limit = limit, stored = stored, tag = tag, start = start,
                                  previous = previous, current = current, span = span, same = same}
  end
end

if remaining < 0 then remaining = 0 end
if retry_after == NEVER then retry_after = -1 end
if denied_by > 0 then return {0, remaining, retry_after, reset_after, 0, denied_by} end
if cost == 0 then return {1, remaining, 0, reset_after, 0, 0} end

for i = n, 1, -1 do
  if i < n then
    local its = kept[KEYS[i]]
    key, limit, stored, tag, start = KEYS[i], its.limit, its.stored, its.tag, its.start
    previous, current, span, same = its.previous, its.current, its.span, its.same
  end
  if cost > 0 then current = current + cost end
  local ttl = (start + 2 * span - now + margin + 999) / 1000
  if previous == 0 and current == 0 then
    if stored then call('DEL', key) end
  elseif tag then
    if same then -- in place: spares packing and copying what stays
      call('SETRANGE', key, '20', struct.pack('<I4', current))
    else
      call('SET', key, struct.pack('<c8dI4I4I4d', tag, start, previous, current, limit, span),
           'KEEPTTL')
    end
    -- A TTL set by the server's clock lasts until the next window ends: the mark ~ spares a PTTL.
    if (margin > 0 or tag == 'counter~' or not same) and call('PTTL', key) < ttl then
      call('PEXPIRE', key, string.format('%d', ttl * 1.25))
    end
  else
    -- With the caller's clock, it is 25 % longer than needed, so that not every call has to set it.
    if margin > 0 then ttl = ttl * 1.25 end
    if stored then ttl = math.max(ttl, call('PTTL', key)) end
    tag = margin > 0 and 'counter~' or 'counter '
    call('SET', key, struct.pack('<c8dI4I4I4d', tag, start, previous, current, limit, span),
         'PX', string.format('%d', ttl))
  end
end
if cost < 0 then return {1, remaining, 0, reset_after, 0, 0} end
return {1, remaining > cost and remaining - cost or 0, 0, reset_if_allowed, 0, 0}
