-- Commands that expire a key at an absolute time count from a given time instead of the server's clock:
-- they become commands with the time that is left.
--
-- Arguments  redis            the script's
--            seconds, micros  the given time
-- Returns    what the script gets instead of `redis`
--
-- A TTL is rounded up to a whole ms. What is not a whole number goes to the server, which refuses it.

local redis, seconds, micros = ...
local ceil, floor, find, format, lower = math.ceil, math.floor, string.find, string.format, string.lower
local select, setmetatable, tonumber, type, unpack = select, setmetatable, tonumber, type, unpack
local PAST = '1' -- ms since 1970

local now = seconds * 1000 + micros / 1000

-- The TTL in ms until a time that is given in units of `unit` ms; none if the server would refuse the time.
local function left_until(time, unit)
  local at = tonumber(time)
  local is_whole = type(time) == 'number' and time % 1 == 0
    or type(time) == 'string' and find(time, '^%-?%d+$')
  return is_whole and ceil(at * unit - now) + 0 -- not -0
end

local function expire_at(unit)
  return function(words)
    local left = left_until(words[3], unit)
    if left then words[1], words[3] = 'PEXPIRE', format('%.0f', left) end
  end
end

-- EXAT and PXAT among the options from the given place on. (A time that has passed removes the key.)
local function options_from(first)
  return function(words)
    for i = first, #words - 1 do
      local option = type(words[i]) == 'string' and lower(words[i])
      if option == 'exat' or option == 'pxat' then
        local left = left_until(words[i + 1], option == 'exat' and 1000 or 1)
        if left and left > 0 then
          words[i], words[i + 1] = 'PX', format('%.0f', left)
        elseif left then
          words[i], words[i + 1] = 'PXAT', PAST
        end
        return
      end
    end
  end
end

local function expire_time(unit)
  return function(words)
    words[1] = 'PTTL'
    return function(left)
      if type(left) ~= 'number' or left < 0 then return left end
      return floor((floor(now) + left + unit / 2) / unit)
    end
  end
end

local changes = {
  expireat = expire_at(1000),
  pexpireat = expire_at(1),
  set = options_from(4),
  getex = options_from(3),
  expiretime = expire_time(1000),
  pexpiretime = expire_time(1),
}

local function caller(execute)
  return function(...)
    local command = ...
    local change = type(command) == 'string' and changes[lower(command)]
    if not change then return execute(...) end
    local words = { ... }
    local read = change(words)
    local reply = execute(unpack(words, 1, select('#', ...)))
    if read then return read(reply) end
    return reply
  end
end

return setmetatable({ call = caller(redis.call), pcall = caller(redis.pcall) }, { __index = redis })
