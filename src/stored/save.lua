-- Reads keys as they are at one instant. Touches only these keys, and calls no command that writes.
--
-- KEYS     the keys
-- ARGV[1]  in bytes: of a longer dump, nothing is returned
-- Reply    the time by the server's clock, in milliseconds since 1970; then for each key nil if it does not
--          exist, or its type, when it expires by this clock or 0 if it does not, its dump or '' if that is
--          longer, and the SHA1 of the dump

local call = redis.call

local function now()
  local clock = call('TIME')
  return clock[1] * 1000 + math.floor(clock[2] / 1000)
end

local reply = {now()}
for i, key in ipairs(KEYS) do
  local dump = call('DUMP', key)
  reply[i + 1] = false
  if dump then
    local ttl = call('PTTL', key)
    local expires = ttl >= 0 and now() + ttl or 0
    local fits = #dump <= tonumber(ARGV[1])
    reply[i + 1] = {call('TYPE', key).ok, expires, fits and dump or '', redis.sha1hex(dump)}
  end
end
return reply
