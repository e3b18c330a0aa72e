-- fixed-window: allows at most `limit` units in each window. Windows start at multiples of `window`
-- since 1970, or are periods that the caller states, such as months. Cheap but coarse: around a
-- boundary, twice the limit can pass almost at once.
--
-- KEYS    one key for each limit; if any key denies the request, none records it
-- ARGV    for each key  limit   1 to 1e9
--                       window  1000 to 1e14 microseconds: 60 s is 60000000; or START-END, the
--                               period that holds the present, in microseconds since 1970
--                       burst   must be empty: this algorithm has no burst
--         then          cost    -1e9 to 1e9, default 1; 0 peeks, a negative cost refunds
--                       now     0 to 4e15 microseconds since 1970, default: the server's clock
--         Empty arguments, and those omitted at the end, take their defaults.
-- Reply   {allowed, remaining, retry_after, reset_after, delay, denied_by}; times in microseconds,
--         retry_after is -1 for never; denied_by is the number of the key to wait longest for
-- Errors  ERR for an invalid argument, PERIOD for a period that does not hold the present,
--         WRONGTYPE for a key with other content; nothing is written
-- Stored  a string of 30 bytes, struct.pack('<c6dI4I4d', 'fixed ', START, COUNT, LIMIT, WINDOW);
--         'fixed~' if a call that gave now began or extended this window
--
-- rlctl: keys {key}
-- rlctl: args {limit} {window_us} '' {cost}
-- rlctl: allowed r[1] == 1
-- rlctl: remaining r[2]
-- rlctl: retry_after r[3] us
-- rlctl: reset_after r[4] us

local start, count, span -- of the window in force, once this request is allowed
local stored, tag -- the string, or false; its tag, if its window has not ended
local same -- whether a write changes nothing but COUNT
local reset_if_allowed = 0

-- [arguments] The same in every script, but for its name, its costs and its last arguments. Locals,
-- since each access to a global costs server time.
local KEYS, ARGV, tonumber, call, pcall = KEYS, ARGV, tonumber, redis.call, redis.pcall
local n, given = #KEYS, #ARGV
if n == 0 then
  return redis.error_reply("ERR fixed-window: KEYS must have one key for each limit, not '0 keys'")
end
local cost, now, margin = 1, '', 0
if given > 3 * n then
  cost, now = ARGV[3 * n + 1], ARGV[3 * n + 2] or ''
  if given > 3 * n + 2 then
    return redis.error_reply('ERR fixed-window: ARGV must be limit, window, burst per key, then ' ..
                             "cost, now, not '" .. ARGV[3 * n + 3] .. "'")
  end
  cost = cost == '' and 1 or tonumber(cost)
  if not (cost and cost >= -1e9 and cost <= 1e9 and cost % 1 == 0) then
    return redis.error_reply('ERR fixed-window: cost must be a whole number from -1e9 to 1e9, ' ..
                             "not '" .. ARGV[3 * n + 1] .. "'")
  end
end
if now == '' then
  now = call('TIME')
  now = now[1] * 1000000 + now[2]
else
  now, margin = tonumber(now), 3600000000 -- TTLs last an hour longer: the caller's clock may lag
  if not (now and now >= 0 and now <= 4e15 and now % 1 == 0) then
    return redis.error_reply('ERR fixed-window: now must be a whole number of microseconds from ' ..
                             "0 to 4e15, not '" .. ARGV[3 * n + 2] .. "'")
  end
end
-- [/arguments]

local NEVER = 1e16 -- longer than any wait
local remaining, retry_after, reset_after, denied_by = 1e10, 0, 0, 0
local key, limit, window -- of the current key; after the loop, of the last key
local from -- when the stated period begins; nil for a plain window
local kept = n > 1 and {} -- the results by key, but for the last key: spares a table for one key
-- [limits] The same in every script, but for its name and where it takes bursts or periods.
for i = 1, n do
  key, limit, window = KEYS[i], tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1])
  from = nil
  if not window then -- [period] The same in every script that takes periods.
    local begins, stops = string.match(ARGV[3 * i - 1] or '', '^(%d+)%-(%d+)$')
    from, stops = tonumber(begins), tonumber(stops)
    window = from and stops <= 5e15 and stops - from
  end -- [/period]
  if not (limit and limit >= 1 and limit <= 1e9 and limit % 1 == 0) then
    return redis.error_reply('ERR fixed-window: limit of KEYS[' .. i .. '] must be a whole ' ..
                             "number from 1 to 1e9, not '" .. (ARGV[3 * i - 2] or '') .. "'")
  end
  if not (window and window >= 1000 and window <= 1e14 and window % 1 == 0) then
    return redis.error_reply('ERR fixed-window: window of KEYS[' .. i .. '] must be a whole ' ..
                             "number of microseconds from 1000 to 1e14 (60 s is 60000000), not '" ..
                             (ARGV[3 * i - 1] or '') .. "'")
  end
  if given >= 3 * i and ARGV[3 * i] ~= '' then
    return redis.error_reply('ERR fixed-window: burst of KEYS[' .. i .. '] must be left out, ' ..
                             "not '" .. ARGV[3 * i] .. "'")
  end
  if kept and kept[key] then
    return redis.error_reply('ERR fixed-window: KEYS[' .. i .. '] must be a key of its own, not ' ..
                             "'" .. key .. "'")
  end
  if from and (now < from or now >= from + window) then
    local what = "PERIOD the period of KEYS[%d] must hold %d, not be '%s'"
    return redis.error_reply(what:format(i, now, ARGV[3 * i - 1]))
  end
  -- [/limits]

  stored, tag, count, span, same = pcall('GET', key), nil, 0, window, false
  start = from or now - now % window
  local ends = start + span - now -- the time until the window in force ends
  if stored then
    local old_start, old_count, old_limit, old_window
    if #stored == 30 then -- an error is a table without elements
      tag, old_start, old_count, old_limit, old_window = struct.unpack('<c6dI4I4d', stored)
    end
    if not ((tag == 'fixed ' or tag == 'fixed~') and old_start >= 0 and old_start <= 4e15 and
            old_count <= 1e9 and old_window >= 1 and old_window <= 1e14) then
      if stored.err and not string.find(stored.err, 'WRONGTYPE') then return stored end
      return redis.error_reply('WRONGTYPE fixed-window: KEYS[' .. i .. '] must hold a string ' ..
                               "'fixed ' with START, COUNT, LIMIT, WINDOW")
    end
    local left = old_start + old_window - now
    if left > 0 then
      -- If the window of a request ends later than the one in force, it takes its place.
      local later = cost > 0 and ends > left
      count = old_count
      if not later then
        start, span = old_start, old_window
      elseif margin > 0 then
        tag = 'fixed~'
      end
      ends, same = left, not later and (cost < 0 or old_limit == limit)
    else
      tag = nil
    end
  end

  if cost < 0 then
    count = count > -cost and count + cost or 0
  elseif cost > limit - count and cost > 0 then
    local wait = cost > limit and NEVER or ends
    if wait > retry_after then retry_after, denied_by = wait, i end
  end
  if limit - count < remaining then remaining = limit - count end
  if count > 0 and ends > reset_after then reset_after = ends end
  ends = start + span - now
  if ends > reset_if_allowed then reset_if_allowed = ends end
  if i < n then
    kept[key] = denied_by > 0 or {limit = limit, stored = stored, tag = tag, start = start,
                                  count = count, span = span, same = same}
  end
end

if remaining < 0 then remaining = 0 end
if retry_after == NEVER then retry_after = -1 end
if denied_by > 0 then return {0, remaining, retry_after, reset_after, 0, denied_by} end
if cost == 0 then return {1, remaining, 0, reset_after, 0, 0} end

for i = n, 1, -1 do
  if i < n then
    local its = kept[KEYS[i]]
    key, limit, stored, tag = KEYS[i], its.limit, its.stored, its.tag
    start, count, span, same = its.start, its.count, its.span, its.same
  end
  if cost > 0 then count = count + cost end
  local ttl = (start + span - now + margin + 999) / 1000
  if count == 0 then
    if stored then call('DEL', key) end
  elseif tag then
    if same then -- in place: spares packing and copying what stays
      call('SETRANGE', key, '14', struct.pack('<I4', count))
    else
      call('SET', key, struct.pack('<c6dI4I4d', tag, start, count, limit, span), 'KEEPTTL')
    end
    -- A TTL set by the server's clock lasts until the window ends: the mark ~ spares a PTTL.
    if (margin > 0 or tag == 'fixed~' or not same) and call('PTTL', key) < ttl then
      call('PEXPIRE', key, string.format('%d', ttl * 1.25))
    end
  else
    -- With the caller's clock, it is 25 % longer than needed, so that not every call has to set it.
    if margin > 0 then ttl = ttl * 1.25 end
    if stored then ttl = math.max(ttl, call('PTTL', key)) end
    tag = margin > 0 and 'fixed~' or 'fixed '
    call('SET', key, struct.pack('<c6dI4I4d', tag, start, count, limit, span), 'PX',
         string.format('%d', ttl))
  end
end
if cost < 0 then return {1, remaining, 0, reset_after, 0, 0} end
return {1, remaining - cost, 0, reset_if_allowed, 0, 0}
