-- The calls, arguments and reply of spring-cloud-gateway: allowed, and the tokens left.
--
-- rlctl: keys {{key}}.tokens {{key}}.timestamp
--
-- $ rlctl adversary --monotonic --tries 2000 --limit 10/1s spring_cloud_gateway.lua \
--     --args '{rate} {burst} {now_s} {cost}' --allowed-when 'r[1] == 1' --head 'remaining r[2]'
-- > 2.00× the limit
-- > denied nothing that an exact log would allow
-- $ rlctl adversary --monotonic --tries 2000 --limit 10/1s spring_cloud_gateway.lua \
--     --args "{rate} {burst} '' {cost}" --allowed-when 'r[1] == 1'
-- > 2.00× the limit
-- > denied nothing that an exact log would allow
-- $ rlctl adversary --monotonic --limit 100/1s spring_cloud_gateway.lua --args "{rate} 10 '' {cost}" \
--     --burst 10 --tries 5000
-- > no bound was found

redis.replicate_commands()
local rate, capacity, requested = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local now = tonumber(ARGV[3])
if now == nil then now = tonumber(redis.call('TIME')[1]) end
local ttl = math.floor(capacity / rate * 2)
local tokens = tonumber(redis.call('GET', KEYS[1])) or capacity
local refreshed = tonumber(redis.call('GET', KEYS[2])) or 0
local filled = math.min(capacity, tokens + math.max(0, now - refreshed) * rate)
local allowed = filled >= requested
if allowed then filled = filled - requested end
if ttl > 0 then
  redis.call('SETEX', KEYS[1], ttl, filled)
  redis.call('SETEX', KEYS[2], ttl, now)
end
return { allowed and 1 or 0, filled }
