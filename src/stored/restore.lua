-- Creates a key from its dump, unless it exists or has expired meanwhile.
--
-- KEYS[1]  the key
-- ARGV     1 mode     'look' to write nothing, else 'write'
--          2 present  'replace' to replace the key if it exists, else 'keep'
--          3 expires  by the server's clock in milliseconds since 1970; 0: never
--          4 dump     the argument of RESTORE
-- Reply    'restored', or 'would-restore' if nothing is written; 'expired'; 'identical' if the key exists
--          with this dump and expires then, 'exists' if not

local call = redis.call
local key, expires, dump = KEYS[1], tonumber(ARGV[3]), ARGV[4]
local replaces = ARGV[2] == 'replace'

local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if expires > 0 and expires <= now then return 'expired' end
if not replaces then
  -- Each on a line of its own: of a refusal, Redis 7.0 tells only the line.
  local present = call('DUMP', key)
  local ttl = call('PTTL', key)
  -- Before Redis 7.2, TIME and PTTL may be a millisecond apart, here and when the key was saved.
  local expires_then = math.abs((ttl >= 0 and now + ttl or 0) - expires) <= 2
  if present then return present == dump and expires_then and 'identical' or 'exists' end
end
if ARGV[1] == 'look' then return 'would-restore' end

if replaces then
  call('RESTORE', key, ARGV[3], dump, 'ABSTTL', 'REPLACE')
else
  call('RESTORE', key, ARGV[3], dump, 'ABSTTL')
end
return 'restored'
