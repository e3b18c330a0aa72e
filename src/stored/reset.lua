-- Removes a key if it still holds what its caller has read of it. Touches only this key, and
-- calls no command that a server refuses when its memory is full.
--
-- KEYS[1]  the key
-- ARGV     1 type     as TYPE reports it
--          2 sha1     of what DUMP returns for the key, if it was saved; else ''
--          3 expires  if it was saved: by the server's clock in milliseconds since 1970, or 0 if it
--                     does not expire
--          then, for a string, its first 128 bytes; for a list, its first and last element, and
--          '1' if it has a TTL, else '0'; for a sorted set, its first and last member, the TTL
--          likewise, and the scores of these members; for a hash, nothing, or the number of its
--          fields and some of them, each followed by its value; for other types, nothing
-- Reply    1 if it was removed, 0 if it holds something else or does not exist

-- A command that fails returns a table, which equals no text: if the key is of another type.
local call = redis.pcall
local key, kind = KEYS[1], ARGV[1]

-- Before the others: HMGET moves fields of a hash that is being rehashed, and so changes the dump.
if ARGV[2] ~= '' then
  local dump, clock, ttl = call('DUMP', key), call('TIME'), call('PTTL', key)
  local expires = ttl >= 0 and clock[1] * 1000 + math.floor(clock[2] / 1000) + ttl or 0
  -- Before Redis 7.2, TIME and PTTL may be a millisecond apart.
  local saved = type(dump) == 'string' and redis.sha1hex(dump) == ARGV[2] and
                math.abs(expires - ARGV[3]) <= 1
  if not saved then return 0 end
end

local same
if kind == 'string' then
  same = call('GETRANGE', key, '0', '127') == ARGV[4]
elseif kind == 'list' then
  same = call('LINDEX', key, '0') == ARGV[4] and call('LINDEX', key, '-1') == ARGV[5] and
         (call('PTTL', key) > 0) == (ARGV[6] == '1')
elseif kind == 'zset' then
  local first = call('ZRANGE', key, '0', '0', 'WITHSCORES')
  local last = call('ZRANGE', key, '-1', '-1', 'WITHSCORES')
  same = first[1] == ARGV[4] and last[1] == ARGV[5] and first[2] == ARGV[7] and
         last[2] == ARGV[8] and (call('PTTL', key) > 0) == (ARGV[6] == '1')
elseif kind == 'hash' and ARGV[4] then
  same = call('HLEN', key) == tonumber(ARGV[4])
  for i = 5, #ARGV, 2 do
    same = same and call('HMGET', key, ARGV[i])[1] == ARGV[i + 1]
  end
else
  same = call('TYPE', key).ok == kind
end
return same and call('UNLINK', key) or 0
