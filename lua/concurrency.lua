-- concurrency: allows at most `limit` leases at a time. A lease lapses unless it is renewed, so a
-- holder that has died frees its place.
--
-- KEYS    one key
-- ARGV    limit   1 to 1e9
--         lease   1 to 1e14 microseconds, after which the lease lapses
--         action  acquire (renews if the id already holds a lease), renew or release
--         id      the holder's name, not empty
--         now     0 to 4e15 microseconds since 1970; omitted or empty: the server's clock
-- Reply   {allowed, remaining, retry_after, reset_after, delay, denied_by}; times in microseconds:
--         remaining is the number of free places, reset_after the time until the last lease lapses;
--         {0, remaining, -1, reset_after, 0, 1} if the lease to renew or release no longer exists
-- Errors  ERR for an invalid argument, WRONGTYPE for a key with other content; nothing is written
-- Stored  a sorted set: a member 'lease:ID' for each lease, scored by the microsecond it lapses at,
--         and a member 'limit', scored by the negated limit of the last acquire or renew
--
-- rlctl: keys {key}
-- rlctl: args {limit} {lease_us} {event} {holder}
-- rlctl: allowed r[1] == 1
-- rlctl: remaining r[2]
-- rlctl: retry_after r[3] us
-- rlctl: reset_after r[4] us

local KEYS, ARGV, tonumber, call, pcall = KEYS, ARGV, tonumber, redis.call, redis.pcall
local key, limit, lease = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local action, id, given = ARGV[3], ARGV[4], ARGV[5] or ''
local now, margin = tonumber(given), 0
local wrong, value
if #KEYS ~= 1 then
  wrong, value = 'KEYS must be one key', #KEYS .. ' keys'
elseif ARGV[6] then
  wrong, value = 'ARGV must be limit lease action id, then now', #ARGV .. ' values'
elseif not (limit and limit >= 1 and limit <= 1e9 and limit % 1 == 0) then
  wrong, value = 'limit must be a whole number from 1 to 1e9', ARGV[1]
elseif not (lease and lease >= 1 and lease <= 1e14 and lease % 1 == 0) then
  wrong, value = 'lease must be a whole number of microseconds from 1 to 1e14', ARGV[2]
elseif action ~= 'acquire' and action ~= 'renew' and action ~= 'release' then
  wrong, value = 'action must be acquire, renew or release', action
elseif not id or id == '' then
  wrong, value = 'id must be the name of the holder', id
elseif given ~= '' and not (now and now >= 0 and now <= 4e15 and now % 1 == 0) then
  wrong, value = 'now must be a whole number of microseconds from 0 to 4e15', given
end
if wrong then
  value = value and ", not '" .. value .. "'" or '; it is missing'
  return redis.error_reply('ERR concurrency: ' .. wrong .. value)
end
if given == '' then
  now = call('TIME')
  now = now[1] * 1000000 + now[2]
else
  margin = 3600000000 -- one hour: TTLs follow the server's clock; the caller's may lag behind it
end

local last = pcall('ZRANGE', key, '-1', '-1', 'WITHSCORES')
if last.err and not string.find(last.err, 'WRONGTYPE') then return last end
local lapses = tonumber(last[2] or now) -- when the last lease lapses
local lowest = last[1] and call('ZRANGE', key, '0', '0', 'WITHSCORES') or {'lease:'}
local has_limit = lowest[1] == 'limit' and tonumber(lowest[2]) < 0
if last.err or string.sub(last[1] or 'lease:', 1, 6) ~= 'lease:' or
   not (has_limit or string.sub(lowest[1], 1, 6) == 'lease:') or
   not (lapses % 1 == 0 and lapses <= 5e15) then
  return redis.error_reply('WRONGTYPE concurrency: KEYS[1] must hold a sorted set of members ' ..
                           "'lease:ID' scored by the microsecond at which they lapse")
end

local member, live = 'lease:' .. id, 0
if lapses > now then live = call('ZCOUNT', key, string.format('(%d', now), '+inf') end
local mine = live > 0 and tonumber(call('ZSCORE', key, member) or now) or now
local holds = mine > now

if action ~= 'acquire' and not holds then
  return {0, limit > live and limit - live or 0, -1, lapses > now and lapses - now or 0, 0, 1}
end
if action == 'acquire' and not holds and live >= limit then
  local frees = call('ZRANGE', key, -limit, -limit, 'WITHSCORES')
  return {0, 0, frees[2] - now, lapses - now, 0, 1}
end

if action == 'release' then
  live = live - 1
  if live == 0 then
    call('DEL', key) -- with the limit, and the leases that have lapsed
    lapses = now
  else
    call('ZREM', key, member)
    if mine == lapses then
      lapses = tonumber(call('ZRANGE', key, '-1', '-1', 'WITHSCORES')[2])
    end
  end
else
  -- A renewal never makes a lease lapse earlier, even if the clock steps back.
  local till = math.max(mine, now + lease)
  call('ZADD', key, string.format('%d', till), member, string.format('%d', -limit), 'limit')
  if not holds then live = live + 1 end
  if till > lapses then lapses = till end
end
if live > 0 then
  call('ZREMRANGEBYSCORE', key, '0', string.format('%d', now))
  local ttl = (lapses - now + margin + 999) / 1000
  if call('PTTL', key) < ttl then
    call('PEXPIRE', key, string.format('%d', ttl))
  end
end
return {1, limit > live and limit - live or 0, 0, lapses - now, 0, 0}
