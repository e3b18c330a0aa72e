-- token-bucket: a bucket of `burst` tokens refills at `limit` per `window`. A unit takes one token.
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
-- Stored  a string of 39 bytes, struct.pack('<c7ddI4dI4', 'tokens ', TOKENS, AT, LIMIT, WINDOW,
--         BURST): the tokens at the time AT; 'tokens~' once a call that gave now has written
--
-- rlctl: keys {key}
-- rlctl: args {limit} {window_us} {burst} {cost}
-- rlctl: allowed r[1] == 1
-- rlctl: remaining r[2]
-- rlctl: retry_after r[3] us
-- rlctl: reset_after r[4] us

local per, span, most -- The bucket gains `per` tokens in each `span`, and holds up to `most`.
local tokens, time -- in it at the later of now and the last write
local stored, same -- the string, or false; whether a write changes nothing but TOKENS and AT
local second -- in which the stored bucket is full, if its TTL is known to last until its end

-- In three places, the same four lines compute `wait`: the time, rounded up, in which a bucket
-- refills from `have` to `enough` tokens. A function for them would take 3 % of a denial's time.

-- [arguments] The same in every script, but for its name, its costs and its last arguments. Locals,
-- since each access to a global costs server time.
local KEYS, ARGV, tonumber, call, pcall = KEYS, ARGV, tonumber, redis.call, redis.pcall
local n, given = #KEYS, #ARGV
if n == 0 then
  return redis.error_reply("ERR token-bucket: KEYS must have one key for each limit, not '0 keys'")
end
local cost, now, margin = 1, '', 0
if given > 3 * n then
  cost, now = ARGV[3 * n + 1], ARGV[3 * n + 2] or ''
  if given > 3 * n + 2 then
    return redis.error_reply('ERR token-bucket: ARGV must be limit, window, burst per key, then ' ..
                             "cost, now, not '" .. ARGV[3 * n + 3] .. "'")
  end
  cost = cost == '' and 1 or tonumber(cost)
  if not (cost and cost >= -1e9 and cost <= 1e9 and cost % 1 == 0) then
    return redis.error_reply('ERR token-bucket: cost must be a whole number from -1e9 to 1e9, ' ..
                             "not '" .. ARGV[3 * n + 1] .. "'")
  end
end
if now == '' then
  now = call('TIME')
  now = now[1] * 1000000 + now[2]
else
  now, margin = tonumber(now), 3600000000 -- TTLs last an hour longer: the caller's clock may lag
  if not (now and now >= 0 and now <= 4e15 and now % 1 == 0) then
    return redis.error_reply('ERR token-bucket: now must be a whole number of microseconds from ' ..
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
    return redis.error_reply('ERR token-bucket: limit of KEYS[' .. i .. '] must be a whole ' ..
                             "number from 1 to 1e9, not '" .. (ARGV[3 * i - 2] or '') .. "'")
  end
  if not (window and window >= 1000 and window <= 1e14 and window % 1 == 0) then
    return redis.error_reply('ERR token-bucket: window of KEYS[' .. i .. '] must be a whole ' ..
                             "number of microseconds from 1000 to 1e14 (60 s is 60000000), not '" ..
                             (ARGV[3 * i - 1] or '') .. "'")
  end
  burst = limit
  if given >= 3 * i and ARGV[3 * i] ~= '' then
    burst = tonumber(ARGV[3 * i])
    if not (burst and burst >= 1 and burst <= 1e9 and burst % 1 == 0) then
      return redis.error_reply('ERR token-bucket: burst of KEYS[' .. i .. '] must be a whole ' ..
                               "number from 1 to 1e9, not '" .. ARGV[3 * i] .. "'")
    end
  end
  if not (limit * burst <= 9007199254740992 and burst * window <= limit * 4e15) then
    return redis.error_reply('ERR token-bucket: burst of KEYS[' .. i .. '] must be such that ' ..
                             "limit * burst <= 2^53 and burst * window / limit <= 4e15, not '" ..
                             burst .. "'")
  end
  if kept and kept[key] then
    return redis.error_reply('ERR token-bucket: KEYS[' .. i .. '] must be a key of its own, not ' ..
                             "'" .. key .. "'")
  end
  -- [/limits]

  stored, per, span, most = pcall('GET', key), limit, window, burst
  tokens, time, same, second = burst, now, false, false
  local had, at -- the stored bucket
  if stored then
    local tag
    if #stored == 39 then -- an error is a table without elements
      tag, had, at, per, span, most = struct.unpack('<c7ddI4dI4', stored)
    end
    same = per == limit and span == window and most == burst
    if not ((tag == 'tokens ' or tag == 'tokens~') and
            had >= 0 and had <= 1e9 and at >= 0 and at <= 4e15 and
            (same or per >= 1 and per <= 1e9 and span >= 1 and span <= 1e14 and span % 1 == 0 and
             most >= 1 and most <= 1e9 and per * most <= 9007199254740992 and
             most * span <= per * 4e15)) then
      if stored.err and not string.find(stored.err, 'WRONGTYPE') then return stored end
      return redis.error_reply('WRONGTYPE token-bucket: KEYS[' .. i .. '] must hold a string ' ..
                               "'tokens ' with TOKENS, AT, LIMIT, WINDOW, BURST")
    end
    same = (same or cost < 0) and (margin == 0 or tag == 'tokens~')
    -- If every write used the server's clock, the TTL lasts until the end of this second.
    if tag == 'tokens ' and margin == 0 then
      second = at + (most - had) * span / per
      second = second - second % 1000000
    end
    if at > now then time = at end
    tokens = had + (time - at) * per / span
    if tokens > most then tokens = most end
  end
  local more = most - burst -- The stored bucket holds that much more than that of the call.

  if cost < 0 then
    tokens = math.min(most, tokens - cost)
  elseif cost > 0 and tokens < cost + more then
    local retry = NEVER
    if cost <= burst then
      local have, enough = had, cost + more
      local wait = (enough - have) * span / per
      wait = wait + -wait % 1
      while have + wait * per / span < enough do wait = wait + 1 end
      while wait > 1 and have + (wait - 1) * per / span >= enough do wait = wait - 1 end
      retry = at + wait - now
    end
    if retry > retry_after then retry_after, denied_by = retry, i end
  end
  local left = tokens - tokens % 1 - more
  if left < remaining then remaining = left end
  if tokens < most and (n > 1 or cost == 0 or denied_by > 0) then
    local have, enough = had, most
    local wait = (enough - have) * span / per
    wait = wait + -wait % 1
    while have + wait * per / span < enough do wait = wait + 1 end
    while wait > 1 and have + (wait - 1) * per / span >= enough do wait = wait - 1 end
    if at + wait - now > reset_after then reset_after = at + wait - now end
  end
  if cost > 0 and denied_by == 0 then
    if per ~= limit or span ~= window then -- Used units are whole when their rate changes.
      tokens = tokens - tokens % 1
    elseif more ~= 0 then -- This rounds down so far that the subtraction below is exact.
      tokens = tokens - tokens % 2 ^ -23
    end
    tokens, per, span, most = tokens - more - cost, limit, window, burst
  end
  if i < n then
    kept[key] = denied_by > 0 or {per = per, span = span, most = most, stored = stored,
                                  tokens = tokens, time = time, same = same, second = second}
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
    key, per, span, most = KEYS[i], its.per, its.span, its.most
    stored, tokens, time, same, second = its.stored, its.tokens, its.time, its.same, its.second
  end
  if tokens >= most then
    if stored then call('DEL', key) end
  else
    local have, enough = tokens, most
    local wait = (enough - have) * span / per
    wait = wait + -wait % 1
    while have + wait * per / span < enough do wait = wait + 1 end
    while wait > 1 and have + (wait - 1) * per / span >= enough do wait = wait - 1 end
    if time + wait - now > reset_after then reset_after = time + wait - now end
    local full = time + (most - tokens) * span / per
    -- A TTL lasts to the end of this second, and is set 25 % longer, so that few calls set it.
    local begins = full - full % 1000000
    local ttl = (begins + 1001000 - now + margin + 999) / 1000
    if same then -- in place: spares packing and copying what stays
      call('SETRANGE', key, '7', struct.pack('<dd', tokens, time))
    else
      local tag = margin > 0 and 'tokens~' or stored and string.sub(stored, 1, 7) or 'tokens '
      local text = struct.pack('<c7ddI4dI4', tag, tokens, time, per, span, most)
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
if cost < 0 then return {1, remaining, 0, reset_after, 0, 0} end
return {1, remaining - cost, 0, reset_after, 0, 0}
