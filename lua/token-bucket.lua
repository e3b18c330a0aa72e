-- token-bucket: a bucket of `burst` tokens refills at `limit` per `window`. A unit takes one token.
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
-- Stored  a string of 39 bytes, struct.pack('<c7ddI4dI4', 'tokens ', TOKENS, AT, LIMIT, WINDOW,
--         BURST): the tokens at the time AT; 'tokens~' once a call that gave now has written

local NAME, HAS_BURST, MIN_COST, MAX_COST = 'token-bucket', true, -1e9, 1e9
local COSTS, STATE = 'from -1e9 to 1e9', "a string 'tokens ' with TOKENS, AT, LIMIT, WINDOW, BURST"

local state, tokens, time -- tokens are those at `time`, the later of now and the last write
local tag, had, at, same -- the stored bucket; same: it was written with this call's limits

-- In three places, `wait` is the time, rounded up, in which a bucket refills from `have` tokens to
-- `enough`. Its lines are the same everywhere: calling a function for it takes 3 % of a denial.

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

  state = pcall('GET', key)
  tokens, time, tag, had, at, same = burst, now, 'tokens ', nil, nil, false
  if state then
    local l, w, b
    if #state == 39 then -- an error is a table without elements
      tag, had, at, l, w, b = struct.unpack('<c7ddI4dI4', state)
    end
    if not (at and (tag == 'tokens ' or tag == 'tokens~') and
            had >= 0 and had <= 1e9 and at >= 0 and at <= 4e15) then
      return type(state) == 'table' and not string.find(state.err, 'WRONGTYPE') and state or
             redis.error_reply('WRONGTYPE ' .. NAME .. ': KEYS[' .. i .. '] must hold ' .. STATE)
    end
    same = l == limit and w == window and b == burst
    same = same and (margin == 0 or tag == 'tokens~')
    if at > now then time = at end
    tokens = had + (time - at) * limit / window
    if tokens > burst then tokens = burst end
  end

  if cost < 0 then
    tokens = math.min(burst, tokens - cost)
  elseif tokens < cost then
    if denied_by == 0 then denied_by = i end
    if cost > burst then
      retry_after = -1
    elseif retry_after >= 0 then
      local have, enough = had, cost
      local wait = (enough - have) * window / limit
      wait = wait + -wait % 1
      while have + wait * limit / window < enough do wait = wait + 1 end
      while wait > 1 and have + (wait - 1) * limit / window >= enough do wait = wait - 1 end
      if at + wait - now > retry_after then retry_after = at + wait - now end
    end
  end
  local left = tokens - tokens % 1
  if left < remaining then remaining = left end
  if tokens < burst and (n > 1 or cost <= 0 or denied_by > 0) then
    local have, enough, since = had, burst, at
    if cost < 0 then have, since = tokens, time end
    local wait = (enough - have) * window / limit
    wait = wait + -wait % 1
    while have + wait * limit / window < enough do wait = wait + 1 end
    while wait > 1 and have + (wait - 1) * limit / window >= enough do wait = wait - 1 end
    if since + wait - now > reset_after then reset_after = since + wait - now end
  end
  if i < n then kept[key] = {key, limit, window, burst, state, tokens, time, tag, had, at, same} end
end

if denied_by > 0 then return {0, remaining, retry_after, reset_after, 0, denied_by} end
if cost == 0 then return {1, remaining, 0, reset_after, 0, 0} end

for i = n, 1, -1 do
  if i < n then
    key, limit, window, burst, state, tokens, time, tag, had, at, same = unpack(kept[KEYS[i]])
  end
  if cost > 0 then tokens = tokens - cost end
  if tokens >= burst then
    if state then call('DEL', key) end
  else
    local have, enough = tokens, burst
    local wait = (enough - have) * window / limit
    wait = wait + -wait % 1
    while have + wait * limit / window < enough do wait = wait + 1 end
    while wait > 1 and have + (wait - 1) * limit / window >= enough do wait = wait - 1 end
    if cost > 0 and time + wait - now > reset_after then reset_after = time + wait - now end
    -- Until the end of the second in which the bucket is full, and 25 % longer, so that not every
    -- call has to check or set the TTL.
    local full = time + (burst - tokens) * window / limit
    local begins = full - full % 1000000
    local ttl = (begins + 1001000 - now + margin + 999) / 1000
    local second -- in which the stored bucket is full, if every write used the server's clock
    if same then
      call('SETRANGE', key, '7', struct.pack('<dd', tokens, time))
      second = at + (burst - had) * window / limit
      second = tag == 'tokens ' and second - second % 1000000
    else
      if margin > 0 then tag = 'tokens~' end
      local text = struct.pack('<c7ddI4dI4', tag, tokens, time, limit, window, burst)
      if state then
        call('SET', key, text, 'KEEPTTL')
      else
        call('SET', key, text, 'PX', string.format('%d', ttl * 1.25))
      end
    end
    if state and second ~= begins and call('PTTL', key) < ttl then
      call('PEXPIRE', key, string.format('%d', ttl * 1.25))
    end
  end
end
if cost < 0 then return {1, remaining, 0, reset_after, 0, 0} end
return {1, remaining - cost, 0, reset_after, 0, 0}
