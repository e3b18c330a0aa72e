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
-- Reply   {allowed, remaining, retry_after, reset_after, delay, denied_by, state}; times in
--         microseconds, retry_after is -1 for never; denied_by is the number of the key to wait
--         longest for. State, after reserve and settle only, is what the reservation was before a
--         settle and is after a reserve: 'held', 'lapsed', 'settled', or 'unknown'
-- Errors  ERR for an invalid argument, PERIOD for a period that does not hold the present,
--         WRONGTYPE for a key with other content; nothing is written
-- Stored  a hash: the field '' holds struct.pack('<c6I7I6I4I6I4I7I7I7I7I2I1', 'budget', END, WINDOW,
--         LIMIT, SPENT, HELD, NEXT, TIME, LAST, EXPIRES, IDS, SWEEP_AT / 2), and the field ID of
--         each reservation struct.pack('<c1I4I7I7', STATE, UNITS, HELD_UNTIL, FORGOTTEN_AT), where
--         STATE is h for held or lapsed, or s for settled

local HAS_BURST, BURSTS = false, 'left out'
local MIN_COST, MAX_COST, COSTS = -1e9, 1e9, 'from -1e9 to 1e9'
local LAST, ARGUMENTS = 5, 'cost, now, action, id, hold'
local function refuse(what, value, i)
  what = what:format(i) .. ", not '" .. (value or '') .. "'"
  return redis.error_reply('ERR budget: ' .. what)
end

-- [arguments] The same in every script. Locals, since each access to a global costs server time.
local KEYS, ARGV, tonumber, call, pcall = KEYS, ARGV, tonumber, redis.call, redis.pcall
local n = #KEYS
if n == 0 then return refuse('KEYS must have one key for each limit', '0 keys') end
local cost, now, margin = ARGV[3 * n + 1] or '', ARGV[3 * n + 2] or '', 0
local extra = ARGV[3 * n + LAST + 1]
if extra then return refuse('ARGV must be limit, window, burst per key, then ' .. ARGUMENTS, extra) end
cost = cost == '' and 1 or tonumber(cost)
if cost ~= 1 and not (cost and cost >= MIN_COST and cost <= MAX_COST and cost % 1 == 0) then
  return refuse('cost must be a whole number ' .. COSTS, ARGV[3 * n + 1])
end
if now == '' then
  now = call('TIME')
  now = now[1] * 1000000 + now[2]
else
  now, margin = tonumber(now), 3600000000 -- TTLs last an hour longer: the caller's clock may lag
  if not (now and now >= 0 and now <= 4e15 and now % 1 == 0) then
    return refuse('now must be a whole number of microseconds from 0 to 4e15', ARGV[3 * n + 2])
  end
end
-- [/arguments]

local action, id, hold = ARGV[3 * n + 3] or '', ARGV[3 * n + 4] or '', ARGV[3 * n + 5] or ''
local reserves, settles = action == 'reserve', action == 'settle'
if not (reserves or settles or action == '') then
  return refuse('action must be reserve, settle or left out', action)
end
if reserves and cost < 1 or settles and (cost < 0 or (ARGV[3 * n + 1] or '') == '') then
  local least = reserves and 1 or 0
  return refuse('cost of ' .. action .. ' must be a whole number from ' .. least .. ' to 1e9',
                ARGV[3 * n + 1])
end
if action == '' and id ~= '' or action ~= '' and (id == '' or #id > 20) then
  return refuse('id must be ' .. (action == '' and 'left out' or 'of 1 to 20 bytes'), id)
end
if reserves then
  hold = tonumber(hold)
  if not (hold and hold >= 1000 and hold <= 1e14 and hold % 1 == 0) then
    return refuse('hold must be a whole number of microseconds from 1000 to 1e14', ARGV[3 * n + 5])
  end
elseif hold ~= '' then
  return refuse('hold must be left out', hold)
end

-- [periods] The same in every script that takes periods.
local from -- when the stated period begins; nil for a plain window
local function to_window(text)
  from = nil
  local window = tonumber(text)
  if window then return window end
  local begins, ends = string.match(text or '', '^(%d+)%-(%d+)$')
  from, ends = tonumber(begins), tonumber(ends)
  return from and ends <= 5e15 and ends - from
end
local function refuse_period(i)
  local what = "PERIOD the period of KEYS[%d] must hold %d, not be '%s'"
  return redis.error_reply(what:format(i, now, ARGV[3 * i - 1]))
end
-- [/periods]

local NEVER = 1e16 -- longer than any wait
local remaining, retry_after, reset_after, denied_by = 1e10, 0, 0, 0
local key, limit, window, burst -- of the current key; after the loop, of the last key
local kept = n > 1 and {} -- the results by key, but for the last key: spares a table for one key

local HEADER, ENTRY = '<c6I7I6I4I6I4I7I7I7I7I2I1', '<c1I4I7I7'
local MOST_IDS, MOST_SPENT = 500, 281474976710655
local pack, read = struct.pack, struct.unpack

-- Of the current key; after the loop, of the last key.
local over -- when the window in force ends
local at -- the key's time: a clock that steps back revives no hold that has lapsed
local spent, held, next, last, expires, ids, sweep_at
local stored, entry, is_lapsed, forget, holds, ended
local mine, units, ends, gone -- the reservation: nil, 'h' or 's'; its fields

-- Reads all reservations: sets what is held now, and notes those to forget. Holds lapse here.
local function sweep()
  local all = call('HGETALL', key)
  held, next, last, ids, holds, ended = 0, 0, 0, 0, {}, {}
  for j = 1, #all, 2 do
    local its = all[j]
    if its ~= '' then
      local state, its_units, its_end, its_last = read(ENTRY, all[j + 1])
      if state == 'h' and its_end > at then
        held = held + its_units
        if next == 0 or its_end < next then next = its_end end
        holds[#holds + 1] = {its_end, its_units}
      end
      if its_last <= at and its ~= id then
        forget = forget or {}
        forget[#forget + 1] = its
      else
        ids = ids + 1
        if its_last > last then last = its_last end
        if (state == 's' or its_end <= at) and its ~= id then ended[#ended + 1] = {its_last, its} end
      end
    end
  end
  sweep_at = ids < 16 and 32 or ids < 250 and ids * 2 or MOST_IDS
end

local function earlier(one, other) return one[1] < other[1] end

-- How long until the cost fits if nobody else calls: until holds lapse, or the window ends.
local function wait_for_room()
  if cost > limit then return NEVER end
  if held == 0 then return over - now end
  if not holds then sweep() end
  table.sort(holds, earlier)
  local still_spent, still_held = spent, held
  for j = 1, #holds do
    local lapses = holds[j][1]
    if still_spent > 0 and over <= lapses then
      still_spent = 0
      if still_held + cost <= limit then return over - now end
    end
    still_held = still_held - holds[j][2]
    if still_spent + still_held + cost <= limit then return lapses - now end
  end
  return over - now
end

local is_unknown = false
local state -- of the reply
-- [limits] The same in every script.
for i = 1, n do
  key, limit, window = KEYS[i], tonumber(ARGV[3 * i - 2]), to_window(ARGV[3 * i - 1])
  if not (limit and limit >= 1 and limit <= 1e9 and limit % 1 == 0) then
    return refuse('limit of KEYS[%d] must be a whole number from 1 to 1e9', ARGV[3 * i - 2], i)
  end
  if not (window and window >= 1000 and window <= 1e14 and window % 1 == 0) then
    return refuse('window of KEYS[%d] must be a whole number of microseconds from 1000 to 1e14 ' ..
                  '(60 s is 60000000)', ARGV[3 * i - 1], i)
  end
  burst = (ARGV[3 * i] or '') == '' and limit or HAS_BURST and tonumber(ARGV[3 * i])
  if burst ~= limit and not (burst and burst >= 1 and burst <= 1e9 and burst % 1 == 0) then
    return refuse('burst of KEYS[%d] must be ' .. BURSTS, ARGV[3 * i], i)
  end
  if HAS_BURST and not (limit * burst <= 9007199254740992 and burst * window <= limit * 4e15) then
    return refuse('burst of KEYS[%d] must be such that limit * burst <= 2^53 and burst * window ' ..
                  '/ limit <= 4e15', burst, i)
  end
  if kept and kept[key] then return refuse('KEYS[%d] must be a key of its own', key, i) end
  -- [/limits]
  if from and (now < from or now >= from + window) then return refuse_period(i) end

  if action == '' then
    stored = pcall('HGET', key, '')
    if not stored and call('EXISTS', key) == 1 then stored = '' end
  else
    local found = pcall('HMGET', key, '', id)
    stored, entry = found[1], found[2]
    if found.err then stored, entry = found, nil end
    if not stored and (entry or call('EXISTS', key) == 1) then stored = '' end
  end
  mine, is_lapsed, forget, holds = nil, false, nil, nil
  if stored then
    local tag, old_over, old_window, _
    if #stored == 64 then -- an error is a table without elements
      tag, old_over, old_window, _, spent, held, next, at, last, expires, ids, sweep_at =
        read(HEADER, stored)
      sweep_at = sweep_at * 2
    end
    if tag ~= 'budget' or entry and #entry ~= 19 then
      if stored.err and not string.find(stored.err, 'WRONGTYPE') then return stored end
      return redis.error_reply('WRONGTYPE budget: KEYS[' .. i .. "] must hold a hash whose field " ..
                               "'' begins with 'budget'")
    end
    if now > at then at = now end
    if at < old_over then
      over, window = old_over, old_window
    else
      over, spent = (from or at - at % window) + window, 0
    end
    if held > 0 and next <= at then sweep() end
    if entry then
      mine, units, ends, gone = read(ENTRY, entry)
      is_lapsed = mine == 'h' and ends <= at
      if gone <= at then mine = nil end
    end
  else
    at, over = now, (from or now - now % window) + window
    spent, held, next, last, expires, ids, sweep_at = 0, 0, 0, 0, 0, 0, 32
  end

  if action ~= '' then
    state = not mine and 'unknown' or mine == 's' and 'settled' or is_lapsed and 'lapsed' or 'held'
  end
  if settles then
    is_unknown = is_unknown or not mine
  elseif cost < 0 then
    spent = spent > -cost and spent + cost or 0
  elseif cost > 0 and not mine then
    if spent + held + cost > limit then
      local wait = wait_for_room()
      if wait > retry_after then retry_after, denied_by = wait, i end
    end
    if ids >= sweep_at and reserves and not entry then
      sweep()
      if ids >= MOST_IDS then
        table.sort(ended, earlier)
        forget = forget or {}
        for j = 1, math.min(#ended, MOST_IDS / 10) do
          forget[#forget + 1], ids = ended[j][2], ids - 1
        end
        if #ended == 0 and next - now > retry_after then retry_after, denied_by = next - now, i end
      end
    end
  end
  if limit - spent - held < remaining then remaining = limit - spent - held end
  if spent > 0 and over - now > reset_after then reset_after = over - now end
  if last > at and last - now > reset_after then reset_after = last - now end
  if i < n then
    kept[key] = {limit = limit, over = over, window = window, at = at, spent = spent, held = held,
                 next = next, last = last, expires = expires, ids = ids, sweep_at = sweep_at,
                 stored = stored, entry = entry, is_lapsed = is_lapsed, forget = forget,
                 mine = mine, units = units, ends = ends, gone = gone}
  end
end

if remaining < 0 then remaining = 0 end
if is_unknown then return {0, remaining, -1, reset_after, 0, 0, 'unknown'} end
if retry_after == NEVER then retry_after = -1 end
if denied_by > 0 then return {0, remaining, retry_after, reset_after, 0, denied_by, state} end
if cost == 0 and action == '' then return {1, remaining, 0, reset_after, 0, 0} end

remaining, reset_after = 1e10, 0
for i = n, 1, -1 do
  if i < n then
    local its = kept[KEYS[i]]
    key, limit, over, window, at = KEYS[i], its.limit, its.over, its.window, its.at
    spent, held, next, last, expires = its.spent, its.held, its.next, its.last, its.expires
    ids, sweep_at, stored, entry, is_lapsed = its.ids, its.sweep_at, its.stored, its.entry, its.is_lapsed
    forget, mine, units, ends, gone = its.forget, its.mine, its.units, its.ends, its.gone
  end
  local changed -- the reservation
  if settles then
    if mine == 'h' then
      if not is_lapsed then held = held - units end
      spent = spent + cost
      if spent > MOST_SPENT then spent = MOST_SPENT end
      changed = pack(ENTRY, 's', cost, ends, gone)
    end
  elseif reserves then
    if not mine then
      ends = at + hold
      held = held + cost
      if not entry then ids = ids + 1 end
      if next == 0 or ends < next then next = ends end
      if ends + hold > last then last = ends + hold end
      changed, state = pack(ENTRY, 'h', cost, ends, ends + hold), 'held'
    end
  elseif cost > 0 then
    spent = spent + cost
  end
  if held == 0 then next = 0 end
  if limit - spent - held < remaining then remaining = limit - spent - held end
  if spent > 0 and over - now > reset_after then reset_after = over - now end
  if last > at and last - now > reset_after then reset_after = last - now end
  local writes = action == '' or changed -- else it was settled, or it is reserved already
  if writes and spent == 0 and last <= at then
    if stored then call('DEL', key) end
  elseif writes then
    local till, ttl = over > last and over or last, nil
    if margin > 0 then
      ttl, expires = (till - now + margin + 999) / 1000, 0
      if stored and call('PTTL', key) >= ttl then ttl = nil end
    elseif till > expires then -- 25 % longer, so that not every call must set it
      ttl = (till - now + 999) / 800
      expires = now + ttl * 1000
    end
    stored = pack(HEADER, 'budget', over, window, limit, spent, held, next, at, last, expires, ids,
                  sweep_at / 2)
    if changed then
      call('HSET', key, '', stored, id, changed)
    else
      call('HSET', key, '', stored)
    end
    if forget and #forget > 0 then call('HDEL', key, unpack(forget)) end
    if ttl then call('PEXPIRE', key, string.format('%d', ttl)) end
  end
end
if remaining < 0 then remaining = 0 end
return {1, remaining, 0, reset_after, 0, 0, state}
