-- The same Redis commands in the same order as AllowN of redis_rate 10.0.1 (GCRA).
-- KEYS key   ARGV burst, rate, period in seconds, cost
-- Reply {units allowed, remaining, retry_after, reset_after}; seconds as text
redis.replicate_commands()
local burst, cost, interval = ARGV[1], tonumber(ARGV[4]), ARGV[3] / ARGV[2]
local time = redis.call('TIME')
local now = time[1] - 1483228800 + time[2] / 1000000
local stored = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now))
local arrival = stored + interval * cost
local room = now + interval * burst - arrival
local remaining = room / interval
if remaining < 0 then return {0, 0, tostring(-room), tostring(stored - now)} end
local reset = arrival - now
if reset > 0 then redis.call('SET', KEYS[1], arrival, 'EX', math.ceil(reset)) end
return {cost, remaining, tostring(-1), tostring(reset)}
