-- Creates a key from what was saved of it, unless it exists or has expired meanwhile.
--
-- KEYS[1]  the key
-- ARGV     1 mode     'look' to write nothing, else 'write'
--          2 present  'replace' to replace the key if it exists, else 'keep'
--          3 expires  by the server's clock in milliseconds since 1970; 0: never
--          4 dump     the argument of RESTORE; '' if the key is written by the commands that follow
--          5 ...      commands, each as the number of its words, and the words without the key, which
--                     comes second
-- Reply    'restored', or 'would-restore' if nothing is written; 'expired'; 'identical' if the key exists
--          with this dump and expires then, 'exists' if not; or the error of a command, and then the key is
--          as it was, unless the error says that it is lost

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

if dump ~= '' then
  if replaces then
    call('RESTORE', key, ARGV[3], dump, 'ABSTTL', 'REPLACE')
  else
    call('RESTORE', key, ARGV[3], dump, 'ABSTTL')
  end
  return 'restored'
end

local replaced, replaced_ttl
if replaces then
  replaced = call('DUMP', key)
  replaced_ttl = call('PTTL', key)
  call('UNLINK', key)
end
local at = 5
while at < #ARGV do
  local command, last = ARGV[at + 1], at + tonumber(ARGV[at])
  local reply = redis.pcall(command, key, unpack(ARGV, at + 2, last))
  if type(reply) == 'table' and reply.err then
    call('UNLINK', key)
    if replaced then
      -- Without a TTL, PTTL replies -1; in its last millisecond 0, which RESTORE takes for no TTL.
      local ttl = replaced_ttl < 0 and 0 or math.max(replaced_ttl, 1)
      local back = redis.pcall('RESTORE', key, ttl, replaced)
      if type(back) == 'table' and back.err then
        return redis.error_reply('ERR the key is lost: it cannot be put back: ' .. back.err)
      end
    end
    -- Up to 7.0, Redis does not say which command it refuses to a script.
    if not string.find(reply.err, "can't run this command", 1, true) then return reply end
    return redis.error_reply("ERR ACL failure in script: no permissions to run the '" ..
                             string.lower(command) .. "' command")
  end
  at = last + 1
end
return 'restored'
