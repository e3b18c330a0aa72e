-- Loaded before a probed script. It provides the probes, which report the values of local variables
-- to the debugger, and a `redis` for the script that reports its calls.
--
-- Arguments  encoder          encode.lua as a function
--            parts            the number of parts of probes; without it, there are no reports
--            seconds, micros  the reply of TIME; without them, the server replies
--            clocked          the `redis` with that reply, given with them
-- Returns    the script's `redis`
--            the probes: [part](part, place, values...) reports the values that changed since the
--            last report for this place: at once if `part` is above 0, else with the next report.
--            [part] is nil while that part is off. new() returns a new number. script(server)
--            returns the script's `redis` if `server` is the real one, else `server` itself.
--            returned(...) returns its arguments, which it reports as what the script returns.
-- The metatable of KEYS, which the debugger's `eval` can reach, has three fields: at 2 the encoder, at 3
-- `clocked`, and at 1 a function:
--   (true)             turns all probes on
--   (false, pauses)    turns them off; with `pauses`, they stop the script now and then, after a
--                      report, as some servers do not do by themselves
--   (part, condition, accepts, hits, message)
--                      makes a probe that is off stop the script, after a report and with all
--                      probes on, at each hit that `accepts` accepts, or all: Lua of the number of
--                      the hit, counted on from `hits`. A hit is when the condition holds, or always
--                      without one: Lua that gets the probe's arguments as "...". With a message,
--                      Lua of the same arguments, it reports the values of that and does not stop
--   ('hits', part)     returns how many hits that were, as a text
-- It returns true, or false if a text does not compile.
-- Reports are lines of redis.debug(), in which encode.lua writes values and texts:
--   ~rl:P7;1=d1.5;2=n:8;1=sab    part 7: its first value is 1.5, its second nil; then part 8
--   ~rl:C;GET;k                  a call, before it is executed
--   ~rl:C;TIME=17;5              a call and its reply
--   ~rl:L;3;text                 redis.log(3, 'text')
--   ~rl:R;d0.5                   what the script returns, of which the server may cut off something
--   ~rl:T                        the script pauses
--   ~rl:B7;t                     the script stops at part 7, a hit; f: its condition raised an error
--   ~rl:G7;d1.5;sx               the message of part 7, a hit: its values
--   ~rl:E7;stext                 that message raised this error
-- This code must not change what the script does: it writes no globals and runs no metamethods, and
-- omits what fails. But it raises a stack overflow, since the script would have overflowed as well.

local encoder, parts, seconds, micros, clocked = ...
local real = redis
local debug, version = real.debug, real.REDIS_VERSION_NUM or 0
local error, loadstring, pcall, rawequal = error, loadstring, pcall, rawequal
local select, setmetatable, tostring, type = select, setmetatable, tostring, type
local find, format, lower, concat = string.find, string.format, string.lower, table.concat

local script_redis -- a table in place of the real `redis`
local aliases = {} -- by such a table, what is reported
local encode, plain, table_text = encoder(aliases)

-- Placeholders for values that a table cannot hold, or that are not worth keeping.
local signs = { ['nil'] = {}, ['function'] = {}, thread = {}, userdata = {} }
local MINUS_ZERO = {}

local told, line = {}, '' -- told: by place, its values; a table's text is at the negative index

local function tell(part, place, ...)
  local known, values = told[place], { ... }
  if not known then
    known = {}
    told[place] = known
  end
  local text = (line == '' and '~rl:P' or line .. ':') .. (part < 0 and -part or part)
  for i = 1, select('#', ...) do
    local value = values[i]
    local kind = type(value)
    if kind == 'table' then
      local now = table_text(value)
      if known[-i] ~= now then
        known[-i], known[i] = now, nil
        text = text .. ';' .. i .. '=' .. now
      end
    else
      local sign = signs[kind]
      if sign == nil then sign = value end
      if value == 0 and 1 / value < 0 then sign = MINUS_ZERO end
      if known[i] ~= sign then
        known[-i], known[i] = nil, sign
        text = text .. ';' .. i .. '=' .. plain(value, kind)
      end
    end
  end
  line = text
  if part > 0 then
    line = ''
    debug(text)
  end
end

local function check(done, message)
  if done then return end
  line = ''
  if type(message) ~= 'string' then return end
  if find(message, 'stack overflow', 1, true) or find(message, 'error in error', 1, true) then
    error(message, 0)
  end
end

-- Every 100,000 instructions the server checks the time and whether to stop the script, but only
-- if that instruction is the script's own. A loop whose length divides 100,000 might never stop.
local ticks = 0

local function vary()
  ticks = ticks + 1
  if ticks % 8 == 0 then
    for _ = 1, ticks % 89 do end
  end
end

local function probe(...)
  vary()
  check(pcall(tell, ...))
end

local probes

local function turn_on()
  for part = 1, parts do
    probes[part] = probe
  end
end

local function tell_message(part, done, ...)
  local values, text = { ... }, (done and '~rl:G' or '~rl:E') .. part
  for i = 1, select('#', ...) do
    local kind = type(values[i])
    text = text .. ';' .. (kind == 'table' and table_text(values[i]) or plain(values[i], kind))
  end
  debug(text)
end

local hits = {} -- by part
local is_judging = false -- a condition or a message may call the function that it is in

local function stop_if(part, condition, accepts, message)
  return function(...)
    if is_judging then return end
    vary()
    local done, holds = true, true
    if condition then
      is_judging = true
      done, holds = pcall(condition, ...)
      is_judging = false
      if done and not holds then return end
    end
    if done then
      hits[part] = hits[part] + 1
      if accepts and not accepts(hits[part]) then return end
      if message then
        is_judging = true
        check(pcall(tell_message, part, pcall(message, ...)))
        is_judging = false
        return
      end
    end
    turn_on()
    check(pcall(tell, ...))
    debug('~rl:B' .. part .. (done and ';t' or ';f'))
    real.breakpoint()
  end
end

local function pause()
  ticks = ticks + 1
  if ticks % 1000 > 0 then return end
  debug('~rl:T')
  real.breakpoint()
end

local function tell_returned(value)
  local kind = type(value)
  if kind == 'table' then
    debug('~rl:R;' .. table_text(value))
  elseif kind == 'number' and value % 1 ~= 0 then
    debug('~rl:R;' .. plain(value, kind))
  end
end

local activations = 0
probes = {
  new = function()
    activations = activations + 1
    return activations
  end,
  returned = function(...)
    check(pcall(tell_returned, (...)))
    return ...
  end,
  script = function(server) return rawequal(server, real) and script_redis or server end,
}

local function control(what, condition, accepts, count, message)
  if what == 'hits' then return format('%d', hits[condition] or 0) end
  if what == true then
    turn_on()
    return true
  elseif not what then
    for part = 1, parts do
      probes[part] = condition and pause or nil
    end
    return true
  end
  local holds = condition and loadstring(condition, '=condition')
  local accept = accepts and loadstring(accepts, '=hits')
  local text = message and loadstring(message, '=message')
  if condition and not holds or accepts and not accept or message and not text then return false end
  hits[what] = count
  probes[what] = stop_if(what, holds, accept, text)
  return true
end

if parts then
  turn_on()
  pcall(setmetatable, KEYS, { control, encoder, clocked })
end

-- The number as the server writes it; '#' marks the fewest digits, which servers write since 7.2.
local function word_of(number)
  if version < 0x070200 then return encode(format('%.17g', number)) end
  if number % 1 == 0 and number > -2 ^ 63 and number < 2 ^ 63 then return format('%.0f', number + 0) end
  if number - number ~= 0 then return format('%.17g', number) end -- inf, nan
  return '#' .. encode(format('%.17g', number))
end

-- Skips calls that will be refused: no words, or one not a string or a number (concat raises).
local function tell_call(answer, ...)
  local words, count = { ... }, select('#', ...)
  if count == 0 then return end
  for i = 1, count do
    local kind = type(words[i])
    words[i] = kind == 'string' and encode(words[i]) or kind == 'number' and word_of(words[i]) or words[i]
  end
  debug('~rl:C;' .. concat(words, ';', 1, count) .. answer)
end

local function is_time(...)
  local word = ...
  return select('#', ...) == 1 and type(word) == 'string' and lower(word) == 'time'
end

local function caller(execute)
  return function(...)
    if parts then
      local answer = seconds and is_time(...) and '=' .. seconds .. ';' .. micros or ''
      check(pcall(tell_call, answer, ...))
    end
    return execute(...)
  end
end

-- The server joins the words with blanks, and refuses levels outside 0 to 3.
local function tell_log(level, ...)
  local words, count = { ... }, select('#', ...)
  if type(level) ~= 'number' or level < 0 or level > 3 or count == 0 then return end
  for i = 1, count do
    local kind = type(words[i])
    words[i] = (kind == 'string' or kind == 'number') and encode(tostring(words[i])) or ''
  end
  debug('~rl:L;' .. format('%d', level) .. ';' .. concat(words, '%20', 1, count))
end

local function log(...)
  if parts then check(pcall(tell_log, ...)) end
  return real.log(...)
end

local inner = clocked or real
local callers = { call = caller(inner.call), pcall = caller(inner.pcall), log = log }
setmetatable(callers, { __index = real })
script_redis = setmetatable({}, { __index = callers, __newindex = real })
aliases[script_redis] = real
return script_redis, probes
