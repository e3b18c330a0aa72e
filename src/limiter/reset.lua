-- Removes a key if it still holds what its caller has read of it. Touches only this key, and
-- calls no command that a server refuses when its memory is full.
--
-- KEYS[1]  the key
-- ARGV     1 type   as TYPE reports it
--          then, for a string, its first 128 bytes; for a list, its first and last element, and
--          '1' if it has a TTL, else '0'; for a sorted set, its first and last member, the TTL
--          likewise, and the scores of these members; for other types, nothing
-- Reply    1 if it was removed, 0 if it holds something else or does not exist

-- A command that fails returns a table, which equals no text: if the key is of another type.
local call = redis.pcall
local key, kind = KEYS[1], ARGV[1]
local same
if kind == 'string' then
  same = call('GETRANGE', key, '0', '127') == ARGV[2]
elseif kind == 'list' then
  same = call('LINDEX', key, '0') == ARGV[2] and call('LINDEX', key, '-1') == ARGV[3] and
         (call('PTTL', key) > 0) == (ARGV[4] == '1')
elseif kind == 'zset' then
  local first = call('ZRANGE', key, '0', '0', 'WITHSCORES')
  local last = call('ZRANGE', key, '-1', '-1', 'WITHSCORES')
  same = first[1] == ARGV[2] and last[1] == ARGV[3] and first[2] == ARGV[5] and
         last[2] == ARGV[6] and (call('PTTL', key) > 0) == (ARGV[4] == '1')
else
  same = call('TYPE', key).ok == kind
end
return same and call('UNLINK', key) or 0
