-- A counter of each second in a hash, all of which are added up.
--
-- rlctl: limit 5/200s
-- rlctl: args {now_s} {window_s} {limit}
--
-- $ rlctl lint growing-work.lua

local now, window, used = tonumber(ARGV[1]), tonumber(ARGV[2]), 0
for _, second in ipairs(redis.call('HKEYS', KEYS[1])) do
  local count = redis.call('HGET', KEYS[1], second)
  if tonumber(second) >= now - window then
    used = used + count
  else
    redis.call('HDEL', KEYS[1], second)
    -- Old seconds stay, and are read:
    -- or: -- want: growing-work warning at 'HGET', never-pruned warning at 'HINCRBY'
  end
end
if used >= tonumber(ARGV[3]) then return 0 end
redis.call('HINCRBY', KEYS[1], now, 1)
redis.call('EXPIRE', KEYS[1], window + 1)
return 1
