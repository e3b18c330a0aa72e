-- gcra: the generic cell rate algorithm (ITU-T I.371). A bucket of `burst` units refills at `limit`
-- per `window`. Its state is a single time, and all arithmetic is exact, in whole numbers.
--
-- KEYS    one key for each limit; if any key denies the request, none records it
-- ARGV    for each key  limit   1 to 1e9
--                       window  1000 to 1e14 microseconds: 60 s is 60000000
--                       burst   1 to 1e9, default: limit; limit * burst at most 2^53,
--                               burst * window / limit at most 4e15
--         then          cost    -1e9 to 1e9, default 1; 0 peeks, a negative cost refunds
--                       now     0 to 4e15 microseconds since 1970, default: the server's clock
--         Empty arguments, and those omitted at the end, take their defaults.
-- Reply   {allowed, remaining, retry_after, reset_after, delay, denied_by}; times in microseconds,
--         retry_after is -1 for never; denied_by is the number of the key to wait longest for
-- Errors  ERR for an invalid argument, WRONGTYPE for a key with other content; nothing is written
-- Stored  a string of 33 bytes, struct.pack('<c5dI4I4dI4', 'gcra ', TAT, REMAINDER, LIMIT,
--         WINDOW, BURST): the theoretical arrival time is TAT + REMAINDER / LIMIT
--         microseconds; 'gcra~' once a call that gave now has written
--
-- rlctl: keys {key}
-- rlctl: args {limit} {window_us} {burst} {cost}
-- rlctl: allowed r[1] == 1
-- rlctl: remaining r[2]
-- rlctl: retry_after r[3] us
-- rlctl: reset_after r[4] us

local per, whole, part -- A unit comes back in whole + part / per microseconds.
local ahead, rest -- The TAT is ahead + rest / LIMIT microseconds after now.
local stored, same -- the string, or false; whether a write changes nothing but the TAT
local second -- of the stored TAT, if its TTL is known to last until the end of that second

-- [arguments] The same in every script, but for its name, its costs and its last arguments. Locals,
-- since each access to a global costs server time.
local KEYS, ARGV, tonumber, call, pcall = KEYS, ARGV, tonumber, redis.call, redis.pcall
local n, given = #KEYS, #ARGV
if n == 0 then
  return redis.error_reply("ERR gcra: KEYS must have one key for each limit, not '0 keys'")
end
local cost, now, margin = 1, '', 0
if given > 3 * n then
  cost, now = ARGV[3 * n + 1], ARGV[3 * n + 2] or ''
  if given > 3 * n + 2 then
    return redis.error_reply('ERR gcra: ARGV must be limit, window, burst per key, then cost, ' ..
                             "now, not '" .. ARGV[3 * n + 3] .. "'")
  end
  cost = cost == '' and 1 or tonumber(cost)
  if not (cost and cost >= -1e9 and cost <= 1e9 and cost % 1 == 0) then
    return redis.error_reply("ERR gcra: cost must be a whole number from -1e9 to 1e9, not '" ..
                             ARGV[3 * n + 1] .. "'")
  end
end
if now == '' then
  now = call('TIME')
  now = now[1] * 1000000 + now[2]
else
  now, margin = tonumber(now), 3600000000 -- TTLs last an hour longer: the caller's clock may lag
  if not (now and now >= 0 and now <= 4e15 and now % 1 == 0) then
    return redis.error_reply('ERR gcra: now must be a whole number of microseconds from 0 to ' ..
                             "4e15, not '" .. ARGV[3 * n + 2] .. "'")
  end
end
-- [/arguments]

local NEVER = 1e16 -- longer than any wait
local remaining, retry_after, reset_after, denied_by = 1e10, 0, 0, 0
local key, limit, window, burst -- of the current key; after the loop, of the last key
local kept = n > 1 and {} -- the results by key, but for the last key: spares a table for one key
-- [limits] The same in every script, but for its name and where it takes bursts or periods.
for i = 1, n do
  key, limit, window = KEYS[i], tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1])
  if not (limit and limit >= 1 and limit <= 1e9 and limit % 1 == 0) then
    return redis.error_reply('ERR gcra: limit of KEYS[' .. i .. '] must be a whole number from ' ..
                             "1 to 1e9, not '" .. (ARGV[3 * i - 2] or '') .. "'")
  end
  if not (window and window >= 1000 and window <= 1e14 and window % 1 == 0) then
    return redis.error_reply('ERR gcra: window of KEYS[' .. i .. '] must be a whole number of ' ..
                             "microseconds from 1000 to 1e14 (60 s is 60000000), not '" ..
                             (ARGV[3 * i - 1] or '') .. "'")
  end
  burst = limit
  if given >= 3 * i and ARGV[3 * i] ~= '' then
    burst = tonumber(ARGV[3 * i])
    if not (burst and burst >= 1 and burst <= 1e9 and burst % 1 == 0) then
      return redis.error_reply('ERR gcra: burst of KEYS[' .. i .. '] must be a whole number ' ..
                               "from 1 to 1e9, not '" .. ARGV[3 * i] .. "'")
    end
  end
  if not (limit * burst <= 9007199254740992 and burst * window <= limit * 4e15) then
    return redis.error_reply('ERR gcra: burst of KEYS[' .. i .. '] must be such that limit * ' ..
                             "burst <= 2^53 and burst * window / limit <= 4e15, not '" .. burst ..
                             "'")
  end
  if kept and kept[key] then
    return redis.error_reply('ERR gcra: KEYS[' .. i .. "] must be a key of its own, not '" .. key ..
                             "'")
  end
  -- [/limits]

  stored, ahead, rest, same, second = pcall('GET', key), 0, 0, false, false
  local span, old_burst = window, nil
  per = limit
  if stored then
    local tag, tat, tat_rest
    if #stored == 33 then -- an error is a table without elements
      tag, tat, tat_rest, per, span, old_burst = struct.unpack('<c5dI4I4dI4', stored)
    end
    same = per == limit and span == window and old_burst == burst
    if not ((tag == 'gcra ' or tag == 'gcra~') and tat >= 0 and tat <= 9e15 and tat_rest < per and
            (same or per <= 1e9 and span >= 1 and span <= 1e14 and span % 1 == 0 and
             old_burst >= 1 and old_burst <= 1e9 and per * old_burst <= 9007199254740992 and
             old_burst * span <= per * 4e15)) then
      if stored.err and not string.find(stored.err, 'WRONGTYPE') then return stored end
      return redis.error_reply('WRONGTYPE gcra: KEYS[' .. i .. "] must hold a string 'gcra ' " ..
                               'with TAT, REMAINDER, LIMIT, WINDOW, BURST')
    end
    -- If every write used the server's clock, the TTL lasts until the end of the TAT's second.
    if tag == 'gcra ' and margin == 0 then second = tat - tat % 1000000 end
    same = (same or cost < 0) and (margin == 0 or tag == 'gcra~')
    if tat >= now then ahead, rest = tat - now, tat_rest end
  end
  part = span % per
  whole = (span - part) / per
  local time_of
  if cost < 0 or per ~= limit or span ~= window then
    -- Returns the time of some units: microseconds, and the rest. Units and part may be 1e9, so
    -- they are multiplied in two steps: numbers are exact up to 2^53.
    function time_of(units)
      local low = units % 32768
      local high = (units - low) / 32768 * part
      local sum = high % per * 32768 + low * part
      return units * whole + math.floor(high / per) * 32768 + math.floor(sum / per), sum % per
    end
    if cost < 0 then
      local micros, parts = time_of(-cost)
      ahead, rest = ahead - micros, rest - parts
      if rest < 0 then ahead, rest = ahead - 1, rest + per end
      if ahead < 0 then ahead, rest = 0, 0 end
    end
  end

  -- Used units are rounded up: division gives the nearest number, and a comparison corrects it.
  local used = (ahead * per + rest) / span + 0.5
  used = used - used % 1
  if used <= burst then
    local parts = used * part % per
    local micros = used * whole + (used * part - parts) / per
    if time_of then micros, parts = time_of(used) end
    if micros < ahead or micros == ahead and parts < rest then used = used + 1 end
  end
  if cost > 0 and burst - used < cost then
    local room = burst - cost
    local parts = room * part % per
    local micros = room * whole + (room * part - parts) / per
    if time_of then micros, parts = time_of(room) end
    local wait = room < 0 and NEVER or ahead - micros + (rest > parts and 1 or 0)
    if wait > retry_after then retry_after, denied_by = wait, i end
  end
  if burst - used < remaining then remaining = burst - used end
  local reset = rest > 0 and ahead + 1 or ahead
  if reset > reset_after then reset_after = reset end
  if cost > 0 and denied_by == 0 then
    local units = cost
    if time_of then -- Used units are whole ones when they come back at another rate than before.
      part = window % limit
      units, whole, ahead, rest = used + cost, (window - part) / limit, 0, 0
    end
    local parts = units * part % limit
    ahead, rest = ahead + units * whole + (units * part - parts) / limit, rest + parts
    if rest >= limit then ahead, rest = ahead + 1, rest - limit end
  elseif cost < 0 then -- A refund leaves the stored limit.
    limit, window, burst = per, span, old_burst
  end
  if i < n then
    kept[key] = denied_by > 0 or {limit = limit, window = window, burst = burst, stored = stored,
                                  ahead = ahead, rest = rest, same = same, second = second}
  end
end

if remaining < 0 then remaining = 0 end
if retry_after == NEVER then retry_after = -1 end
if denied_by > 0 then return {0, remaining, retry_after, reset_after, 0, denied_by} end
if cost == 0 then return {1, remaining, 0, reset_after, 0, 0} end

reset_after = 0 -- From here on, it is that of what is written.
for i = n, 1, -1 do
  if i < n then
    local its = kept[KEYS[i]]
    key, limit, window, burst = KEYS[i], its.limit, its.window, its.burst
    stored, ahead, rest, same, second = its.stored, its.ahead, its.rest, its.same, its.second
  end
  local reset = rest > 0 and ahead + 1 or ahead
  if reset == 0 then
    if stored then call('DEL', key) end
  else
    if reset > reset_after then reset_after = reset end
    -- A TTL lasts to the end of the TAT's second, and is set 25 % longer, so that few calls set it.
    local tat = now + ahead
    local begins = tat - tat % 1000000
    local ttl = (begins + 1000000 - now + margin + 999) / 1000
    if same then -- in place: spares packing and copying what stays
      call('SETRANGE', key, '5', struct.pack('<dI4', tat, rest))
    else
      local tag = margin > 0 and 'gcra~' or stored and string.sub(stored, 1, 5) or 'gcra '
      local text = struct.pack('<c5dI4I4dI4', tag, tat, rest, limit, window, burst)
      if stored then
        call('SET', key, text, 'KEEPTTL')
      else
        call('SET', key, text, 'PX', string.format('%d', ttl * 1.25))
      end
    end
    -- The mark ~ and the second spare a PTTL in nearly every call by the server's clock.
    if stored and second ~= begins and call('PTTL', key) < ttl then
      call('PEXPIRE', key, string.format('%d', ttl * 1.25))
    end
  end
end
return {1, cost > 0 and remaining - cost or remaining, 0, reset_after, 0, 0}
