local count = 0
local t = {a = {10, 20}}
for i = 1, 3 do
  count = count + i
  redis.call('INCR', KEYS[1])
end

return {count, t.a[2]}
