-- A limiter that keeps a count, in two functions.
local key, limit = KEYS[1], tonumber(ARGV[1])

local function used()
  local text = redis.call('GET', key)
  return tonumber(text or 0)
end

local function take(cost)
  local now = used() + cost
  if now > limit then
    return 0
  end
  redis.call('INCRBY', key, cost)
  return 1
end

return take(2)
