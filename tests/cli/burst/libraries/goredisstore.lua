-- A reply whose verdict is its fourth element: {limit, remaining, reset as a time in ms, allowed}.
local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local start = now - now % window
local key = KEYS[1] .. ':' .. string.format('%.0f', start)
local count = redis.call('INCR', key)
redis.call('PEXPIREAT', key, string.format('%.0f', start + window))
return { limit, math.max(0, limit - count), start + window, count <= limit }
