-- What a script may do with keys that are not among its KEYS: nothing, or anything, with virtual time for
-- their TTLs, as key_aging.lua has it for KEYS. It may call no command that finds keys by itself.
--
-- Arguments  redis             the script's
--            keys              its KEYS
--            hash              that of key_aging.lua; '' if other keys are refused
--            seconds, micros   the virtual time; not needed without a hash
-- Returns    what the script gets instead of `redis`
--
-- Made anew for each request, so it makes little before it is needed.
--
-- A command is refused before it runs, by an error that redis.pcall() does not catch either. Whoever wants to
-- know whether a script uses other keys finds one more: the hash's name and ':others'. Between two commands
-- the TTL of another key is an hour longer, so that no real time matters.

local redis, keys, hash, seconds, micros = ...
local find, lower, type = string.find, string.lower, type
local wrap, yield = coroutine.wrap, coroutine.yield
local declared, slack = {}, nil -- µs by which keys expire later; known once there was another key
for i = 1, #keys do declared[keys[i]] = true end

-- What limiters call most, and whose only key is their first argument: the server need not be asked.
local HAVE_ONE_KEY = ' decr decrby expire get hget hgetall hincrby hmget hset incr incrby llen lpush '
  .. 'pexpire pttl rpush set setex ttl zadd zcard zcount zrange zrangebyscore zremrangebyscore '
local FIND_KEYS = ' dbsize flushall flushdb keys randomkey scan select swapdb '

-- Answers a command that may have other keys.
local function answer_asking(execute, name, ...)
  local ceil, floor, format, max = math.ceil, math.floor, string.format, math.max
  local SPARE, SHORTEST = 3600000, 5 -- ms
  local ask = redis.pcall
  local now

  local function found_ttl(ends)
    return max(floor((ends + slack - now) / 1000), SHORTEST)
  end

  -- Gives a key the TTL that is left at this time; returns when it ends.
  local function resume(key)
    local ends = tonumber(ask('HGET', hash, key) or nil)
    if not ends then return end
    if now < ends + slack then
      ask('PEXPIRE', key, found_ttl(ends))
      return ends
    end
    ask('UNLINK', key)
    ask('HDEL', hash, key)
  end

  -- Keeps when a key ends. A TTL is rounded as key_aging.lua does.
  local function pause(key, ends)
    local left = ask('PTTL', key)
    if type(left) ~= 'number' or left < 0 then
      if ends then ask('HDEL', hash, key) end
      return
    end
    local changed = not ends or left - found_ttl(ends)
    if changed == true or changed > 1 or changed < -1 then
      local step = left >= 1000 and 10 or left >= 100 and 5 or 1
      ask('HSET', hash, key, format('%.0f', now + ceil(left / step) * step * 1000))
    end
    ask('PEXPIRE', key, left + SPARE)
  end

  if find(FIND_KEYS, name, 1, true) then
    error('the script calls ' .. string.upper((...)) .. ', which is not limited to its KEYS', 0)
  end
  local others, named = {}, ask('COMMAND', 'GETKEYS', ...)
  for i = 1, #named do -- none if it has no keys, or is wrong
    if not declared[named[i]] then others[named[i]] = true end
  end
  local first = next(others)
  if not first then return execute(...) end
  if hash == '' then
    first = string.gsub(first, '%c', '?') -- an error would end at a NUL
    error("the script touches '" .. first .. "', which is not one of its KEYS", 0)
  end
  if not slack then
    slack = tonumber(ask('HGET', hash, hash) or nil) or 0
    ask('SET', hash .. ':others', '')
  end
  now = seconds * 1000000 + micros
  local ends = {}
  for key in pairs(others) do ends[key] = resume(key) end
  local reply = execute(...)
  for key in pairs(others) do pause(key, ends[key]) end
  return reply
end

local function answer(execute, ...)
  local command, key = ...
  local name = type(command) == 'string' and ' ' .. lower(command) .. ' ' or ' ? '
  if declared[key] and find(HAVE_ONE_KEY, name, 1, true) then return execute(...) end
  return answer_asking(execute, name, ...)
end

local substitute

-- A C function, that of a coroutine: with a Lua function, the server would give its line for that of an
-- error, and Lua forgets the line of "return redis.call()". An error ends it, and the next use finds another.
local function caller(name)
  local execute, itself = redis[name], nil
  local function go_on(...)
    substitute[name] = nil
    local reply = answer(execute, ...)
    substitute[name] = itself
    return go_on(yield(reply))
  end
  itself = wrap(go_on)
  return itself
end

substitute = setmetatable({}, { __index = function(_, name)
  if name == 'call' or name == 'pcall' then return caller(name) end
  return redis[name]
end })
return substitute
