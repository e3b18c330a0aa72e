-- Reads a whole key at one instant. Touches only this key, and calls no command that writes.
--
-- KEYS[1]  the key
-- ARGV     1 type     as TYPE reports it
--          2 longest  in bytes: of a longer dump, nothing is returned
--          3 most     in bytes: the contents are read, too, if the dump has at most this many, and
--          4 size     the key has at most this many elements or, if it is a string, bytes
--          5 ...      the command that reads the contents, without the key, which comes second; for a
--                     type that only DUMP reads, nothing
-- Reply    nil if the key does not exist or is of another type; else
--          when it expires, by the server's clock in milliseconds since 1970, or 0 if it does not; its
--          dump, the SHA1 of the dump, and the contents, if they were read

local call = redis.call
local key, kind = KEYS[1], ARGV[1]
local dump = call('DUMP', key)
if not dump or call('TYPE', key).ok ~= kind then return false end

local clock, ttl = call('TIME'), call('PTTL', key)
local expires = ttl >= 0 and clock[1] * 1000 + math.floor(clock[2] / 1000) + ttl or 0
if #dump > tonumber(ARGV[2]) then return {expires} end
local reply = {expires, dump, redis.sha1hex(dump)}
if not ARGV[5] or #dump > tonumber(ARGV[3]) then return reply end

-- A command with the key; an error and true if it fails.
local function ask(command, ...)
  local answer = redis.pcall(command, key, ...)
  local refusal = type(answer) == 'table' and answer.err
  -- Up to 7.0, Redis does not say which command it refuses to a script.
  if refusal and string.find(refusal, "can't run this command", 1, true) then
    answer = redis.error_reply("ERR ACL failure in script: no permissions to run the '" ..
                               string.lower(command) .. "' command")
  end
  return answer, refusal
end

-- The dump of many equal elements is short.
local sizes = {string = 'STRLEN', list = 'LLEN', set = 'SCARD', hash = 'HLEN', zset = 'ZCARD'}
local size, failed = ask(sizes[kind])
if failed then return size end
if size > tonumber(ARGV[4]) then return reply end
local contents
contents, failed = ask(ARGV[5], unpack(ARGV, 6))
if failed then return contents end
reply[4] = contents
return reply
