-- TIME replies a given time.
--
-- Arguments  redis            the script's
--            seconds, micros  the reply
-- Returns    what the script gets instead of `redis`

local redis, seconds, micros = ...
local lower, select, setmetatable, type = string.lower, select, setmetatable, type

local function caller(execute)
  return function(...)
    local command = ...
    if type(command) == 'string' and #command == 4 and select('#', ...) == 1 and lower(command) == 'time' then
      return { seconds, micros }
    end
    return execute(...)
  end
end

return setmetatable({ call = caller(redis.call), pcall = caller(redis.pcall) }, { __index = redis })
