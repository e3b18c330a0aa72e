-- luacheck: std ngx_lua
-- access_by_lua: answers 429 if one of the limits is reached, else lets the request pass.
local redis = require 'nginx.redis' -- Debian's name; OpenResty's is resty.redis

local timeout = 1000 -- in milliseconds
local server = os.getenv('LIMIT_REDIS') or 'unix:/run/redis/redis-server.sock'

local file = assert(io.open(os.getenv('LIMIT_SCRIPT') or '/usr/share/rlctl/lua/sliding-window-log.lua'))
local script = file:read('*a')
file:close()
local sha1 = ngx.sha1_bin(script):gsub('.', function(c) return ('%02x'):format(c:byte()) end)

-- Returns a table, or nil and an error. A request that timed out may have been counted: it is sent once.
local function check(key, limits)
  local call = { #limits }
  for _, limit in ipairs(limits) do -- the braces are a hash tag: one slot of a Cluster for all keys
    table.insert(call, #limits == 1 and key or ('{%s}:%ds'):format(key, limit.seconds))
  end
  for _, limit in ipairs(limits) do
    for _, argument in ipairs { limit.requests, ('%d000000'):format(limit.seconds), '' } do
      table.insert(call, argument)
    end
  end

  local connection = redis:new()
  connection:set_timeout(timeout)
  local connected, why = connection:connect(server)
  if not connected then return nil, why end
  local reply, problem = connection:evalsha(sha1, unpack(call))
  if not reply and problem:find('^NOSCRIPT') then
    reply, problem = connection:eval(script, unpack(call))
  end
  if not reply then
    connection:close()
    return nil, problem
  end
  connection:set_keepalive(10000, 100)
  local retry_after = reply[3] >= 0 and reply[3] / 1e6 or nil -- in seconds; nil: it can never be allowed
  return { allowed = reply[1] == 1, remaining = reply[2], retry_after = retry_after }
end

return function(key, limits)
  local decision, problem = check(key, limits)
  if not decision then
    ngx.log(ngx.ERR, 'no decision for ', key, ': ', problem)
    return ngx.exit(503) -- fails closed; `return` alone fails open
  end
  ngx.header['X-RateLimit-Remaining'] = decision.remaining
  if decision.allowed then return end
  ngx.header['Retry-After'] = decision.retry_after and math.ceil(decision.retry_after)
  return ngx.exit(429)
end
