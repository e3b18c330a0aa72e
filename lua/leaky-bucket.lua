-- leaky-bucket: a queue whose requests depart `window` / `limit` apart. Up to `burst` may wait. The
-- reply tells an allowed request how long to wait, so traffic is shaped rather than rejected.
--
-- KEYS    one key for each limit; if any key denies the request, none records it
-- ARGV    for each key  limit   1 to 1e9
--                       window  1000 to 1e14 microseconds: 60 s is 60000000
--                       burst   1 to 1e9, default: limit; limit * burst at most 2^53,
--                               burst * window / limit at most 4e15
--         then          cost    0 to 1e9, default 1; 0 peeks; departures cannot be refunded
--                       now     0 to 4e15 microseconds since 1970, default: the server's clock
--         Empty arguments, and those omitted at the end, take their defaults.
-- Reply   {allowed, remaining, retry_after, reset_after, delay, denied_by}; times in microseconds,
--         retry_after is -1 for never; denied_by is the number of the key to wait longest for
-- Errors  ERR for an invalid argument, WRONGTYPE for a key with other content; nothing is written
-- Stored  a string of 34 bytes, struct.pack('<c6dI4I4dI4', 'leaky ', LAST, REMAINDER, LIMIT,
--         WINDOW, BURST): the last departure taken is at LAST + REMAINDER / LIMIT
--         microseconds; 'leaky~' once a call that gave now has written
--
-- rlctl: keys {key}
-- rlctl: args {limit} {window_us} {burst} {cost}
-- rlctl: allowed r[1] == 1
-- rlctl: remaining r[2]
-- rlctl: retry_after r[3] us
-- rlctl: reset_after r[4] us
-- rlctl: delay r[5] us

-- Exact times: departures are whole + part / limit microseconds apart, and the next free departure
-- is ahead + rest / limit microseconds after now.
local whole, part, ahead, rest
local stored, same -- the string, or false; whether a write changes nothing but LAST
local second -- of the stored LAST, if its TTL is known to last until an interval after its end

-- [arguments] The same in every script, but for its name, its costs and its last arguments. Locals,
-- since each access to a global costs server time.
local KEYS, ARGV, tonumber, call, pcall = KEYS, ARGV, tonumber, redis.call, redis.pcall
local n, given = #KEYS, #ARGV
if n == 0 then
  return redis.error_reply("ERR leaky-bucket: KEYS must have one key for each limit, not '0 keys'")
end
local cost, now, margin = 1, '', 0
if given > 3 * n then
  cost, now = ARGV[3 * n + 1], ARGV[3 * n + 2] or ''
  if given > 3 * n + 2 then
    return redis.error_reply('ERR leaky-bucket: ARGV must be limit, window, burst per key, then ' ..
                             "cost, now, not '" .. ARGV[3 * n + 3] .. "'")
  end
  cost = cost == '' and 1 or tonumber(cost)
  if not (cost and cost >= 0 and cost <= 1e9 and cost % 1 == 0) then
    return redis.error_reply('ERR leaky-bucket: cost must be a whole number from 0 to 1e9 (a ' ..
                             "departure cannot be refunded), not '" .. ARGV[3 * n + 1] .. "'")
  end
end
if now == '' then
  now = call('TIME')
  now = now[1] * 1000000 + now[2]
else
  now, margin = tonumber(now), 3600000000 -- TTLs last an hour longer: the caller's clock may lag
  if not (now and now >= 0 and now <= 4e15 and now % 1 == 0) then
    return redis.error_reply('ERR leaky-bucket: now must be a whole number of microseconds from ' ..
                             "0 to 4e15, not '" .. ARGV[3 * n + 2] .. "'")
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
    return redis.error_reply('ERR leaky-bucket: limit of KEYS[' .. i .. '] must be a whole ' ..
                             "number from 1 to 1e9, not '" .. (ARGV[3 * i - 2] or '') .. "'")
  end
  if not (window and window >= 1000 and window <= 1e14 and window % 1 == 0) then
    return redis.error_reply('ERR leaky-bucket: window of KEYS[' .. i .. '] must be a whole ' ..
                             "number of microseconds from 1000 to 1e14 (60 s is 60000000), not '" ..
                             (ARGV[3 * i - 1] or '') .. "'")
  end
  burst = limit
  if given >= 3 * i and ARGV[3 * i] ~= '' then
    burst = tonumber(ARGV[3 * i])
    if not (burst and burst >= 1 and burst <= 1e9 and burst % 1 == 0) then
      return redis.error_reply('ERR leaky-bucket: burst of KEYS[' .. i .. '] must be a whole ' ..
                               "number from 1 to 1e9, not '" .. ARGV[3 * i] .. "'")
    end
  end
  if not (limit * burst <= 9007199254740992 and burst * window <= limit * 4e15) then
    return redis.error_reply('ERR leaky-bucket: burst of KEYS[' .. i .. '] must be such that ' ..
                             "limit * burst <= 2^53 and burst * window / limit <= 4e15, not '" ..
                             burst .. "'")
  end
  if kept and kept[key] then
    return redis.error_reply('ERR leaky-bucket: KEYS[' .. i .. '] must be a key of its own, not ' ..
                             "'" .. key .. "'")
  end
  -- [/limits]

  part = window % limit
  whole, ahead, rest, same, second = (window - part) / limit, 0, 0, false, false
  stored = pcall('GET', key)
  if stored then
    local tag, last, last_rest, old_limit, old_window, old_burst
    if #stored == 34 then -- an error is a table without elements
      tag, last, last_rest, old_limit, old_window, old_burst = struct.unpack('<c6dI4I4dI4', stored)
    end
    if not ((tag == 'leaky ' or tag == 'leaky~') and last >= 0 and last <= 9e15 and
            last_rest < old_limit) then
      if stored.err and not string.find(stored.err, 'WRONGTYPE') then return stored end
      return redis.error_reply('WRONGTYPE leaky-bucket: KEYS[' .. i .. '] must hold a string ' ..
                               "'leaky ' with LAST, REMAINDER, LIMIT, WINDOW, BURST")
    end
    same = old_limit == limit and old_window == window and old_burst == burst and
           (margin == 0 or tag == 'leaky~')
    -- If every write used the server's clock, the TTL lasts until an interval after LAST's second.
    if tag == 'leaky ' and same then second = last - last % 1000000 end
    if old_limit ~= limit and last_rest > 0 then
      -- last_rest * limit / old_limit, rounded up, in two parts: doubles are exact up to 2^53.
      local low = last_rest % 32768
      local high = (last_rest - low) / 32768 * limit
      local sum = high % old_limit * 32768 + low * limit
      last_rest = math.floor(high / old_limit) * 32768 + math.ceil(sum / old_limit)
    end
    ahead, rest = last + whole - now, last_rest + part
    if rest >= limit then ahead, rest = ahead + 1, rest - limit end
    if ahead < 0 then ahead, rest = 0, 0 end
  end

  -- The departures between now and the next free one, rounded up: division gives the nearest whole
  -- number, and one exact comparison corrects it. One request may pass, and `burst` more may wait.
  local used = (ahead * limit + rest) / window + 0.5
  used = used - used % 1
  if used <= burst then
    local parts = used * part % limit
    local micros = used * whole + (used * part - parts) / limit
    if micros < ahead or micros == ahead and parts < rest then used = used + 1 end
  end
  if cost > 0 and burst + 1 - used < cost then
    local room = burst + 1 - cost
    local parts = room * part % limit
    local wait = ahead - room * whole - (room * part - parts) / limit + (rest > parts and 1 or 0)
    if room < 0 then wait = NEVER end
    if wait > retry_after then retry_after, denied_by = wait, i end
  end
  if burst + 1 - used < remaining then remaining = burst + 1 - used end
  local reset = rest > 0 and ahead + 1 or ahead
  if reset > reset_after then reset_after = reset end
  if i < n then
    kept[key] = denied_by > 0 or {limit = limit, window = window, burst = burst, stored = stored,
                                  ahead = ahead, rest = rest, same = same, second = second}
  end
end

if remaining < 0 then remaining = 0 end
if retry_after == NEVER then retry_after = -1 end
if denied_by > 0 then return {0, remaining, retry_after, reset_after, 0, denied_by} end
if cost == 0 then return {1, remaining, 0, reset_after, 0, 0} end

local delay = reset_after -- the longest time until a free departure, over all keys
for i = n, 1, -1 do
  if i < n then
    local its = kept[KEYS[i]]
    key, limit, window, burst = KEYS[i], its.limit, its.window, its.burst
    stored, ahead, rest, same, second = its.stored, its.ahead, its.rest, its.same, its.second
    part, whole = window % limit, (window - window % limit) / limit
  end
  -- The last departure that this request takes, and the next free one after it.
  local parts = (cost - 1) * part % limit
  local last = ahead + (cost - 1) * whole + ((cost - 1) * part - parts) / limit
  rest = rest + parts
  if rest >= limit then last, rest = last + 1, rest - limit end
  local reset = last + whole + (rest + part > limit and 2 or rest + part > 0 and 1 or 0)
  if reset > reset_after then reset_after = reset end
  -- A TTL lasts an interval beyond that departure's second, and 25 % longer: few calls must set it.
  last = now + last
  local begins = last - last % 1000000
  local ttl = (begins + 1000000 + whole + 1 - now + margin + 999) / 1000
  if same then -- in place: spares packing and copying what stays
    call('SETRANGE', key, '6', struct.pack('<dI4', last, rest))
  else
    local tag = margin > 0 and 'leaky~' or stored and string.sub(stored, 1, 6) or 'leaky '
    local text = struct.pack('<c6dI4I4dI4', tag, last, rest, limit, window, burst)
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
return {1, remaining - cost, 0, reset_after, delay, 0}
