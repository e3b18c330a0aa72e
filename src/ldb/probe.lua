-- Loaded before a probed script. It provides the probes, which report the values of local variables
-- to the debugger, and a `redis` for the script that reports its calls.
--
-- Arguments  encoder          encode.lua as a function
--            parts            the number of parts of probes; without it, there are no reports
--            halt             calls its argument within the script's chunk, where the debugger stops
--            arguments        how many ARGV the script has; others are removed. Without it, none are
--            seconds, micros  the reply of TIME; without them, the server replies
--            clocked          the `redis` with that reply, given with them
-- Returns    the script's `redis`
--            the probes: [part](part, place, values...) reports the values that changed since the
--            last report for this place: at once if `part` is above 0, else with the next report.
--            [part] is nil while that part is off. new() returns a new number. script(server)
--            returns the script's `redis` if `server` is the real one, else `server` itself.
--            returned(...) returns its arguments, which it reports as what the script returns.
--            set(place, values...), while there is one, returns the values with those that were set.
--            run(main) calls main, and stops at an error that nothing catches, with its frames intact.
-- The metatable of KEYS, which the debugger's `eval` can reach, has five fields: at 2 the encoder, at 3
-- `clocked`, and at 1, 4 and 5 functions. At 4: (place, index, value, ...) sets a value of a place, or the
-- field of a table there to which the keys lead, and returns it. At 5: (places...) reports them as they are
-- now. At 1:
--   (true)             turns all probes on
--   (false, pauses, keeps, last)
--                      turns them off; with `pauses`, they stop the script now and then, after a
--                      report, as some servers do not do by themselves; with `keeps`, they keep what
--                      they would have reported, for a stop within a line; at the number `last` of all
--                      probes since the beginning, the script stops, and the probes are on
--   ('stops', text)    stops the script before the calls that the text lists: ' get redis.pcall '
--   ('errors', flag)   whether run() stops at errors, as it does at first
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
--   ~rl:H;get                    halts before a call that is in the list
--   ~rl:X;sERR%20it              halts at an error, with its value
--   ~rl:N;17                     the script ends after as many probes
-- This code must not change what the script does: it writes no globals and runs no metamethods, and
-- omits what fails. But it raises a stack overflow, since the script would have overflowed as well.

local encoder, parts, halt, arguments, seconds, micros, clocked = ...
local real = redis
local debug, version = real.debug, real.REDIS_VERSION_NUM or 0
local error, loadstring, next, pcall, rawequal = error, loadstring, next, pcall, rawequal
local rawget, rawset, select, setmetatable = rawget, rawset, select, setmetatable
local tostring, type = tostring, type
local unpack, xpcall = unpack, xpcall
local find, format, lower = string.find, string.format, string.lower
local concat, sort = table.concat, table.sort
local os = rawget(_G, 'os') -- not on all servers

local script_redis -- a table in place of the real `redis`
local aliases = {} -- by such a table, what is reported
local encode, plain, table_text = encoder(aliases)

-- Placeholders for values that a table cannot hold, or that are not worth keeping.
local signs = { ['nil'] = {}, ['function'] = {}, thread = {}, userdata = {} }
local MINUS_ZERO = {}

local told, line = {}, '' -- told: by place, its values; a table's text is at the negative index
local held = {} -- by place, the values themselves, with their part and number

local function tell(part, place, ...)
  local known, values = told[place], { ... }
  values.part, values.count = part, select('#', ...)
  held[place] = values
  if not known then
    known = {}
    told[place] = known
  end
  local text = (line == '' and '~rl:P' or line .. ':') .. (part < 0 and -part or part)
  for i = 1, values.count do
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
-- While the probes are off: whether they pause and keep, and their number at which the script stops.
local is_off, pauses, keeps, last
local is_judging = false -- a condition or a message may call the function that it is in
local kept = {} -- by place: the values, and `tick`, `part` and `count`, the number of values

local function turn_on()
  is_off, kept = false, {}
  for part = 1, parts do
    probes[part] = probe
  end
end

local function tell_kept()
  local order = {}
  for place, values in next, kept do
    values.place = place
    order[#order + 1] = values
  end
  sort(order, function(a, b) return a.tick < b.tick end)
  for i = 1, #order do
    local values = order[i]
    tell(values.part, values.place, unpack(values, 1, values.count))
  end
end

local function note(part, place, ...)
  kept[place] = { tick = ticks, part = part, count = select('#', ...), ... }
end

local keep_few

local function keep(part, place, ...)
  if is_judging then return end
  if not is_off then return probe(part, place, ...) end
  vary()
  if keeps then
    note(part, place, ...)
    local count = kept[place].count
    if count <= 8 and not last then probes[part < 0 and -part or part] = keep_few(count) end
  end
  if ticks == last then
    check(pcall(tell_kept))
    turn_on()
    real.breakpoint()
  elseif pauses and ticks % 1024 == 0 then
    debug('~rl:T')
    real.breakpoint()
  end
end

local paused_at = 0

local function seconds_now()
  if os then return os.clock() end
  local now = real.call('TIME')
  return now[1] + now[2] / 1e6
end

local function pause_if_due()
  local now = seconds_now()
  if now - paused_at < 0.01 then return end
  paused_at = now
  debug('~rl:T')
  real.breakpoint()
end

-- What keep() has put in its place is faster, since it makes no tables. The server may stop the script
-- between the instructions that fetch such a function and call it: called after that stop, it finds
-- nothing kept.
local function sometimes()
  for _ = 1, ticks / 64 % 89 do end
  pause_if_due()
end

local function keep_2(count)
  return function(part, place, a, b)
    if is_judging then return end
    local values = kept[place] -- a halt in sometimes() may empty it
    if not values then return keep(part, place, unpack({ a, b }, 1, count)) end
    ticks = ticks + 1
    if ticks % 64 == 0 then sometimes() end
    values.tick, values.part, values.count = ticks, part, count
    values[1], values[2] = a, b
  end
end

local function keep_8(count)
  return function(part, place, a, b, c, d, e, f, g, h)
    if is_judging then return end
    local values = kept[place] -- a halt in sometimes() may empty it
    if not values then return keep(part, place, unpack({ a, b, c, d, e, f, g, h }, 1, count)) end
    ticks = ticks + 1
    if ticks % 64 == 0 then sometimes() end
    values.tick, values.part, values.count = ticks, part, count
    values[1], values[2], values[3], values[4] = a, b, c, d
    if count > 4 then
      values[5], values[6], values[7], values[8] = e, f, g, h
    end
  end
end

function keep_few(count) return count <= 2 and keep_2(count) or keep_8(count) end

local function tell_message(part, done, ...)
  local values, text = { ... }, (done and '~rl:G' or '~rl:E') .. part
  for i = 1, select('#', ...) do
    local kind = type(values[i])
    text = text .. ';' .. (kind == 'table' and table_text(values[i]) or plain(values[i], kind))
  end
  debug(text)
end

local hits = {} -- by part

local function stop_if(part, condition, accepts, message)
  return function(...)
    if is_judging then return end
    vary()
    if keeps then note(...) end
    local done, holds = true
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

-- A script that spends its time in calls executes few instructions, after which a server would stop it.
local calls = 0

local function pause_at_call()
  calls = calls + 1
  if calls % 16 == 0 then pause_if_due() end
end

-- At a halt the user may end the script by an error, which nothing here may catch.
local function halt_within_line(report)
  check(pcall(tell_kept))
  debug(report)
  halt(real.breakpoint)
end

local stops -- a text, as in ('stops', text)

local function stop_at_call(name, ...)
  local word = ...
  if not find(stops, ' ' .. name .. ' ', 1, true) then
    name = type(word) == 'string' and lower(word) or ''
    if not find(stops, ' ' .. name .. ' ', 1, true) then return end
  end
  halt_within_line('~rl:H;' .. encode(name))
end

local stops_at_errors = true

-- An error with which the debugger itself ends a script is raised where no stop is possible.
local function ends_debugging(text)
  return find(text, 'script aborted for user request', 1, true)
    or find(text, 'Script killed by user', 1, true)
    or find(text, 'timeout during Lua debugging', 1, true)
end

local function on_error(value)
  local kind = type(value)
  local text = kind == 'table' and rawget(value, 'err') or value
  if not stops_at_errors or (type(text) == 'string' and ends_debugging(text)) then return value end
  local done, report = pcall(kind == 'table' and table_text or plain, value, kind)
  halt_within_line('~rl:X;' .. (done and report or 'n'))
  return value
end

local function ended(done, ...)
  debug('~rl:N;' .. ticks)
  if done then return ... end
  error(..., 0)
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
  run = function(main) return ended(xpcall(main, on_error)) end,
  script = function(server) return rawequal(server, real) and script_redis or server end,
}

local function control(what, condition, accepts, count, message)
  if what == 'hits' then return format('%d', hits[condition] or 0) end
  if what == true then
    turn_on()
    return true
  elseif not what then
    is_off, pauses, keeps, last = true, condition, accepts, count
    paused_at = seconds_now()
    for part = 1, parts do
      probes[part] = (pauses or keeps or last) and keep or nil
    end
    return true
  elseif what == 'stops' then
    stops = condition
    return true
  elseif what == 'errors' then
    stops_at_errors = condition
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

local function tell_again(...)
  for i = 1, select('#', ...) do
    local place = select(i, ...)
    local values = held[place]
    check(pcall(tell, values.part, place, unpack(values, 1, values.count)))
  end
end

local due = {} -- by place and index, the values that the script has yet to take over, each in a table

local function take_over(place, ...)
  local values, new = { ... }, due[place]
  if new then
    for i, value in next, new do
      values[i] = value[1]
    end
    due[place] = nil
  end
  if not next(due) then probes.set = nil end
  return unpack(values, 1, select('#', ...))
end

local function set(place, index, value, ...)
  local values, count = held[place], select('#', ...)
  if count == 0 then
    due[place] = due[place] or {}
    due[place][index] = { value }
    values[index] = value
    probes.set = take_over
    return value
  end
  local inner = values[index]
  for i = 1, count - 1 do
    inner = rawget(inner, (select(i, ...)))
  end
  local key = select(count, ...)
  rawset(inner, key, value)
  return rawget(inner, key)
end

for i = #ARGV, (arguments or #ARGV) + 1, -1 do
  rawset(ARGV, i, nil)
end

if parts then
  turn_on()
  pcall(setmetatable, KEYS, { control, encoder, clocked, set, tell_again })
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

local function caller(name, execute)
  return function(...)
    if parts then
      if is_judging then
        return execute(...)
      elseif stops then
        stop_at_call(name, ...)
      elseif is_off then
        pause_at_call()
      end
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
local callers = { log = log }
callers.call = caller('redis.call', inner.call)
callers.pcall = caller('redis.pcall', inner.pcall)
setmetatable(callers, { __index = real })
script_redis = setmetatable({}, { __index = callers, __newindex = real })
aliases[script_redis] = real
return script_redis, probes
