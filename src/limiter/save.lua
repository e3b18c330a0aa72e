-- Reads a whole key at one instant. Touches only this key, and calls no command that writes.
--
-- KEYS[1]  the key
-- ARGV     1 type    as TYPE reports it
--          2 most    the contents are read, too, if the dump has at most this many bytes
--          3 ...     the command that reads the contents, without the key, which comes second; for a type
--                    that only DUMP reads, nothing
-- Reply    nil if the key does not exist or is of another type; else
--          when it expires, by the server's clock in milliseconds since 1970, or 0 if it does not; its
--          dump, the SHA1 of the dump, and the contents, if they were read

local call = redis.call
local key = KEYS[1]
local dump = call('DUMP', key)
if not dump or call('TYPE', key).ok ~= ARGV[1] then return false end

local clock, ttl = call('TIME'), call('PTTL', key)
local expires = ttl >= 0 and clock[1] * 1000 + math.floor(clock[2] / 1000) + ttl or 0
local reply = {expires, dump, redis.sha1hex(dump)}
if ARGV[3] and #dump <= tonumber(ARGV[2]) then
  local contents = redis.pcall(ARGV[3], key, unpack(ARGV, 4))
  local refusal = type(contents) == 'table' and contents.err
  -- Up to 7.0, Redis does not say which command it refuses to a script.
  if refusal and string.find(refusal, "can't run this command", 1, true) then
    return redis.error_reply("ERR ACL failure in script: no permissions to run the '" ..
                             string.lower(ARGV[3]) .. "' command")
  end
  if refusal then return contents end
  reply[4] = contents
end
return reply
