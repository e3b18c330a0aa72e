-- budget: allows at most `limit` units in each window, for requests whose cost is known afterwards:
-- units are held from a reservation until it is settled with the actual cost, or until its hold
-- ends. Windows start at multiples of `window` since 1970, or are periods that the caller states.
--
-- KEYS    one key for each limit; if any key denies the request, none records it
-- ARGV    for each key  limit   1 to 1e9
--                       window  1000 to 1e14 microseconds: 60 s is 60000000; or START-END, the
--                               period that holds the present, in microseconds since 1970
--                       burst   must be empty: this algorithm has no burst
--         then          cost    -1e9 to 1e9, default 1; 0 peeks, a negative cost refunds what was
--                               spent. For settle, the actual cost, which has no default
--                       now     0 to 4e15 microseconds since 1970, default: the server's clock
--                       action  reserve or settle; default: spend the cost at once
--                       id      of the reservation, 1 to 20 bytes
--                       hold    reserve: 1000 to 1e14 microseconds
--         Empty arguments, and those omitted at the end, take their defaults.
-- Reply   {allowed, remaining, retry_after, reset_after, delay, denied_by}; times in microseconds,
--         retry_after is -1 for never; denied_by is the number of the key to wait longest for.
--         After reserve and settle, state, units and hold follow: what the reservation was before
--         a settle and is after a reserve, 'held', 'lapsed', 'settled' or 'unknown'; what it holds,
--         or was settled with; and for how long. A reserve with other units than the reservation
--         has, and a settle with another cost than before, change nothing: {0, remaining, -1,
--         reset_after, 0, 0, state, units, hold} tells what stands
-- Errors  ERR for an invalid argument, PERIOD for a period that does not hold the present,
--         WRONGTYPE for a key with other content; nothing is written
-- Stored  a hash: the field '' holds struct.pack('<c6I7I6I4I6I4I7I7I7I7I2I1', 'budget', END, WINDOW,
--         LIMIT, SPENT, HELD, NEXT, TIME, LAST, EXPIRES, IDS, SWEEP_AT / 2), and the field ID of
--         each reservation struct.pack('<c1I4I7I7', STATE, UNITS, HELD_UNTIL, FORGOTTEN_AT), where
--         STATE is h for held or lapsed, or s for settled. An ID is remembered for twice its hold.
--         A key has 500 at most: then the 50 that would be forgotten first, and those of the same
--         microsecond as the last of them, make room; those that are held never do
--
-- rlctl: keys {key}
-- rlctl: args {limit} {window_us} '' {cost}
-- rlctl: allowed r[1] == 1
-- rlctl: remaining r[2]
-- rlctl: retry_after r[3] us
-- rlctl: reset_after r[4] us

-- [arguments] The same in every script, but for its name, its costs and its last arguments. Locals,
-- since each access to a global costs server time.
local KEYS, ARGV, tonumber, call, pcall = KEYS, ARGV, tonumber, redis.call, redis.pcall
local n, given = #KEYS, #ARGV
if n == 0 then
  return redis.error_reply("ERR budget: KEYS must have one key for each limit, not '0 keys'")
end
local cost, now, margin = 1, '', 0
if given > 3 * n then
  cost, now = ARGV[3 * n + 1], ARGV[3 * n + 2] or ''
  if given > 3 * n + 5 then
    return redis.error_reply('ERR budget: ARGV must be limit, window, burst per key, then cost, ' ..
                             "now, action, id, hold, not '" .. ARGV[3 * n + 6] .. "'")
  end
  cost = cost == '' and 1 or tonumber(cost)
  if not (cost and cost >= -1e9 and cost <= 1e9 and cost % 1 == 0) then
    return redis.error_reply("ERR budget: cost must be a whole number from -1e9 to 1e9, not '" ..
                             ARGV[3 * n + 1] .. "'")
  end
end
if now == '' then
  now = call('TIME')
  now = now[1] * 1000000 + now[2]
else
  now, margin = tonumber(now), 3600000000 -- TTLs last an hour longer: the caller's clock may lag
  if not (now and now >= 0 and now <= 4e15 and now % 1 == 0) then
    return redis.error_reply('ERR budget: now must be a whole number of microseconds from 0 to ' ..
                             "4e15, not '" .. ARGV[3 * n + 2] .. "'")
  end
end
-- [/arguments]

local action, id, hold = '', '', ''
if given > 3 * n + 2 then
  action, id, hold = ARGV[3 * n + 3], ARGV[3 * n + 4] or '', ARGV[3 * n + 5] or ''
end
local reserves, settles = action == 'reserve', action == 'settle'
if not (reserves or settles or action == '') then
  return redis.error_reply("ERR budget: action must be reserve, settle or left out, not '" ..
                           action .. "'")
end
if reserves and cost < 1 or settles and (cost < 0 or ARGV[3 * n + 1] == '') then
  local least = reserves and 1 or 0
  return redis.error_reply('ERR budget: cost of ' .. action .. ' must be a whole number from ' ..
                           least .. " to 1e9, not '" .. ARGV[3 * n + 1] .. "'")
end
if action == '' and id ~= '' or action ~= '' and (id == '' or #id > 20) then
  return redis.error_reply('ERR budget: id must be ' ..
                           (action == '' and 'left out' or 'of 1 to 20 bytes') .. ", not '" .. id ..
                           "'")
end
if reserves then
  hold = tonumber(hold)
  if not (hold and hold >= 1000 and hold <= 1e14 and hold % 1 == 0) then
    return redis.error_reply('ERR budget: hold must be a whole number of microseconds from 1000 ' ..
                             "to 1e14, not '" .. (ARGV[3 * n + 5] or '') .. "'")
  end
elseif hold ~= '' then
  return redis.error_reply("ERR budget: hold must be left out, not '" .. hold .. "'")
end

local NEVER = 1e16 -- longer than any wait
local MOST_IDS, FORGOTTEN_AT_ONCE, MOST_SPENT = 500, 50, 281474976710655
local HEADER, ENTRY = '<c6I7I6I4I6I4I7I7I7I7I2I1', '<c1I4I7I7'
local pack, read = struct.pack, struct.unpack

-- Of the current key; after the loop, of the last key.
local stored -- the header, or false
local at -- the key's time: a clock that steps back revives no hold that has lapsed
local over, span, spent -- when the window in force ends, its length, the units spent in it
local call_end, old_limit -- when the window of this call ends; the stored limit
local held, next, last -- the units held; when the next hold lapses; when the last ID is forgotten
local expires -- when the TTL ends; 0 if the last call that wrote gave now
local ids, sweep_at -- how many are stored; at how many to look for some to forget
local entry, mine, units, ends, gone, is_lapsed -- the reservation; mine is nil, 'h' or 's'
local forget -- IDs

local remaining, retry_after, reset_after, denied_by = 1e10, 0, 0, 0
local state, told_units, told_hold -- of the reply
local conflict -- state, units and hold, if a key knows the reservation with other units
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
    return redis.error_reply('ERR budget: limit of KEYS[' .. i .. '] must be a whole number ' ..
                             "from 1 to 1e9, not '" .. (ARGV[3 * i - 2] or '') .. "'")
  end
  if not (window and window >= 1000 and window <= 1e14 and window % 1 == 0) then
    return redis.error_reply('ERR budget: window of KEYS[' .. i .. '] must be a whole number of ' ..
                             "microseconds from 1000 to 1e14 (60 s is 60000000), not '" ..
                             (ARGV[3 * i - 1] or '') .. "'")
  end
  if given >= 3 * i and ARGV[3 * i] ~= '' then
    return redis.error_reply('ERR budget: burst of KEYS[' .. i .. "] must be left out, not '" ..
                             ARGV[3 * i] .. "'")
  end
  if kept and kept[key] then
    return redis.error_reply('ERR budget: KEYS[' .. i .. "] must be a key of its own, not '" ..
                             key .. "'")
  end
  if from and (now < from or now >= from + window) then
    local what = "PERIOD the period of KEYS[%d] must hold %d, not be '%s'"
    return redis.error_reply(what:format(i, now, ARGV[3 * i - 1]))
  end
  -- [/limits]

  stored, entry, mine, is_lapsed, forget = pcall('HGET', key, ''), nil, nil, false, nil
  local is_foreign = not stored and call('EXISTS', key) == 1
  at, call_end, old_limit = now, (from or now - now % window) + window, limit
  over, span = call_end, window
  if not stored then
    spent, held, next, last, expires, ids, sweep_at = 0, 0, 0, 0, 0, 0, 32
  elseif #stored ~= 64 then -- an error is a table without elements
    is_foreign = true
  else
    local tag, old_over, old_window, time
    tag, old_over, old_window, old_limit, spent, held, next, time, last, expires, ids, sweep_at =
      read(HEADER, stored)
    is_foreign = tag ~= 'budget' or old_over > 5e15 or old_window > 1e14 or time > 4e15 or last > 5e15
    sweep_at = sweep_at * 2
    if time > now then at = time end
    -- Without units and IDs, the key is as if it were not there.
    if at < old_over and (spent > 0 or last > at) then
      over, span = old_over, old_window
    else
      spent, old_limit = 0, limit
    end
    entry = id ~= '' and call('HGET', key, id)
    if entry then
      if #entry == 19 then mine, units, ends, gone = read(ENTRY, entry) end
      is_foreign = is_foreign or mine ~= 'h' and mine ~= 's'
      is_lapsed = mine == 'h' and ends <= at
      if mine and gone <= at then mine = nil end
    end
  end

  local asks, grows = cost > 0 and not (settles or mine), reserves and not entry
  local wait, holds = 0, nil
  if not is_foreign and (held > 0 and (next <= at or asks and spent + held + cost > limit) or
                         grows and ids >= sweep_at) then
    -- Reads all reservations: what is held now, until when, and which IDs can be forgotten.
    local all, ended = call('HGETALL', key), {}
    is_foreign = #all > 2 * (MOST_IDS + 1)
    held, next, last, ids, forget, holds = 0, 0, 0, 0, {}, {{over, spent}}
    for j = 1, #all, 2 do
      local its, its_state, its_units, its_end, its_last = all[j], nil
      if #all[j + 1] == 19 then its_state, its_units, its_end, its_last = read(ENTRY, all[j + 1]) end
      if its_state == 'h' and its_end > at then
        held, ids = held + its_units, ids + 1
        if next == 0 or its_end < next then next = its_end end
        if its_last > last then last = its_last end
        holds[#holds + 1] = {its_end, its_units}
      elseif its_state == 'h' or its_state == 's' then
        if its_last > at or its == id then
          ended[#ended + 1] = {its_last, its}
        else
          forget[#forget + 1] = its
        end
      elseif its ~= '' then
        is_foreign = true
      end
    end
    local function earlier(one, other) return one[1] < other[1] end
    table.sort(holds, earlier)
    local latest = 0 -- when the last ID that makes room would be forgotten
    if grows and ids >= MOST_IDS then
      wait = next - now
    elseif grows and ids + #ended >= MOST_IDS then
      table.sort(ended, earlier)
      latest = (ended[FORGOTTEN_AT_ONCE] or ended[#ended])[1]
    end
    for _, its in ipairs(ended) do
      if its[1] <= latest then
        forget[#forget + 1] = its[2]
      else
        ids = ids + 1
        if its[1] > last then last = its[1] end
      end
    end
    sweep_at = ids < 16 and 32 or ids < 250 and ids * 2 or MOST_IDS
  end
  if is_foreign then
    if stored and stored.err and not string.find(stored.err, 'WRONGTYPE') then return stored end
    return redis.error_reply('WRONGTYPE budget: KEYS[' .. i .. "] must hold a hash of a header " ..
                             "'' and at most " .. MOST_IDS .. ' reservations')
  end

  if action ~= '' then
    local its = not mine and 'unknown' or mine == 's' and 'settled' or is_lapsed and 'lapsed' or 'held'
    -- Unknown if one of the keys does not know it, and settled only if all say so.
    if not state or state == 'settled' or its == 'unknown' then
      state, told_units, told_hold = its, mine and units or 0, mine and gone - ends or 0
    end
    if mine == (reserves and 'h' or 's') and units ~= cost then
      conflict = conflict or {its, units, gone - ends}
    end
  elseif cost < 0 then
    spent = spent > -cost and spent + cost or 0
  end
  local used = spent + held
  if limit - used < remaining then remaining = limit - used end
  if asks and used + cost > limit then
    local room_at = cost > limit and NEVER + now -- until enough holds lapse or the window ends
    for _, its in ipairs(holds or {{over, spent}}) do
      used = used - its[2]
      if not room_at and used + cost <= limit then room_at = its[1] end
    end
    if room_at - now > wait then wait = room_at - now end
  end
  if wait > retry_after then retry_after, denied_by = wait, i end
  if spent > 0 and over - now > reset_after then reset_after = over - now end
  if last > at and last - now > reset_after then reset_after = last - now end
  if i < n then
    kept[key] = {limit = limit, window = window, stored = stored, at = at, over = over,
                 span = span, call_end = call_end, old_limit = old_limit, spent = spent, held = held,
                 next = next, last = last, expires = expires, ids = ids, sweep_at = sweep_at,
                 entry = entry, mine = mine, units = units, ends = ends, gone = gone,
                 is_lapsed = is_lapsed, forget = forget}
  end
end

if remaining < 0 then remaining = 0 end
if settles and state == 'unknown' then
  return {0, remaining, -1, reset_after, 0, 0, state, told_units, told_hold}
end
if conflict then return {0, remaining, -1, reset_after, 0, 0, unpack(conflict)} end
if retry_after == NEVER then retry_after = -1 end
if denied_by > 0 then
  return {0, remaining, retry_after, reset_after, 0, denied_by, state, told_units, told_hold}
end
if cost == 0 and action == '' then return {1, remaining, 0, reset_after, 0, 0} end

remaining, reset_after = 1e10, 0
for i = n, 1, -1 do
  if i < n then
    local its = kept[KEYS[i]]
    key, limit, window, stored, at, over = KEYS[i], its.limit, its.window, its.stored, its.at, its.over
    span, call_end, old_limit = its.span, its.call_end, its.old_limit
    spent, held, next, last, expires = its.spent, its.held, its.next, its.last, its.expires
    ids, sweep_at, entry, mine, units = its.ids, its.sweep_at, its.entry, its.mine, its.units
    ends, gone, is_lapsed, forget = its.ends, its.gone, its.is_lapsed, its.forget
  end
  local changed -- the reservation
  if settles then
    told_units = cost
    if mine == 'h' then
      if not is_lapsed then held = held - units end
      spent = spent + cost
      if spent > MOST_SPENT then spent = MOST_SPENT end
      changed = pack(ENTRY, 's', cost, ends, gone)
    end
  elseif reserves then
    if not mine then
      ends = at + hold
      gone = ends + hold
      held = held + cost
      if not entry then ids = ids + 1 end
      if next == 0 or ends < next then next = ends end
      if gone > last then last = gone end
      changed = pack(ENTRY, 'h', cost, ends, gone)
      state, told_units, told_hold = 'held', cost, hold
    end
  elseif cost > 0 then
    spent = spent + cost
  end
  local writes = action == '' or changed -- else it was settled, or it is reserved already
  local takes = writes and cost > 0 and not settles
  if takes and call_end > over then over, span = call_end, window end
  if held == 0 then next = 0 end
  if limit - spent - held < remaining then remaining = limit - spent - held end
  if spent > 0 and over - now > reset_after then reset_after = over - now end
  if last > at and last - now > reset_after then reset_after = last - now end
  if writes and spent == 0 and last <= at then
    if stored then call('DEL', key) end
  elseif writes then
    local till, ttl = spent > 0 and over > last and over or last, nil
    if margin > 0 then expires = 0 end
    if till > expires then -- 25 % longer, so that not every call must set it
      local needed = (till - now + margin + 999) / 1000
      local left = stored and call('PTTL', key) or 0
      if left < needed then
        left = needed * 1.25
        left = left - left % 1
        ttl = string.format('%d', left)
      end
      if margin == 0 then expires = now + (left - 1) * 1000 end -- TTLs count from a whole ms
    end
    local header = pack(HEADER, 'budget', over, span, takes and limit or old_limit, spent, held,
                        next, at, last, expires, ids, sweep_at / 2)
    if changed then
      call('HSET', key, '', header, id, changed)
    else
      call('HSET', key, '', header)
    end
    if forget and #forget > 0 then call('HDEL', key, unpack(forget)) end
    if ttl then call('PEXPIRE', key, ttl) end
  end
end
if remaining < 0 then remaining = 0 end
return {1, remaining, 0, reset_after, 0, 0, state, told_units, told_hold}
