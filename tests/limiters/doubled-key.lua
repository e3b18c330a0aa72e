-- A counter of each of its KEYS, of which two may be equal.
--
-- rlctl: args {limit} {window_s}
--
-- $ rlctl lint doubled-key.lua --keys '{key}' --keys '{key}'
-- $ rlctl lint doubled-key.lua --keys '{{key}}' --keys '{{key}}:other'

local seen = {}
for i = 1, #KEYS do
  if not seen[KEYS[i]] then
  -- or: if KEYS[i] then  -- want: doubled-key critical at 'INCR', wrong-limit critical
  -- ! the script's own limit differs
  -- or: if i == 1 then
    local count = redis.call('INCR', KEYS[i])
    if count == 1 then redis.call('EXPIRE', KEYS[i], ARGV[2]) end
    if count > tonumber(ARGV[1]) then return 0 end
  end
  seen[KEYS[i]] = true
end
return 1
