-- Registers the keys that the script makes beside its KEYS, so that they can be removed, and lets virtual
-- time pass for their TTLs, as key_aging.lua does for KEYS.
--
-- Arguments  redis             the script's
--            keys              its KEYS
--            registry          the key of a set, to which the names are added
--            hash              that of key_aging.lua; '' if no TTLs are aged
--            seconds, micros   the virtual time; not needed without a hash
-- Returns    what the script gets instead of `redis`
--
-- A key is registered once a command has made it: one that was there before belongs to somebody else. Between
-- two commands the TTL of a key is an hour longer, so that no real time matters.

local redis, keys, registry, hash, seconds, micros = ...
local next = next
local ceil, floor, format, lower, max = math.ceil, math.floor, string.format, string.lower, math.max
local select, setmetatable, tonumber, type, unpack = select, setmetatable, tonumber, type, unpack
local ask = redis.pcall -- a user who may not ask registers nothing

local SPARE, SHORTEST = 3600000, 5 -- ms
local ages = hash ~= ''
local now = ages and seconds * 1000000 + micros
local declared, mine = { [registry] = true, [hash] = true }, {} -- keys
for i = 1, #keys do declared[keys[i]] = true end

-- Which of its words a command may make a key of, if not the second alone.
local function third() return { 3 } end
local function every_other(count, _, first)
  local places = {}
  for i = first or 2, count, 2 do places[#places + 1] = i end
  return places
end
local function after_count(count) return every_other(count, nil, 3) end
local function after_store(count, words)
  for i = 2, count - 1 do
    local word = type(words[i]) == 'string' and lower(words[i])
    if word == 'store' or word == 'storedist' then return { i + 1 } end
  end
  return {}
end
local makes = {
  bitop = third, blmove = third, brpoplpush = third, copy = third, georadius = after_store,
  georadiusbymember = after_store, lmove = third, mset = every_other, msetex = after_count,
  msetnx = every_other, rename = third, renamenx = third, rpoplpush = third, smove = third,
  sort = after_store, xgroup = third,
}

local function name_of(word)
  if type(word) == 'number' then return format('%.17g', word) end
  return type(word) == 'string' and word or nil
end

local function found_ttl(ends, slack)
  return max(floor((ends + slack - now) / 1000), SHORTEST)
end

-- Gives each key the TTL that is left at this time; returns when they end, by name, and the slack.
local function resume(count, words)
  local names, ends = { hash }, {}
  for i = 2, count do
    local name = name_of(words[i])
    if name and not declared[name] then names[#names + 1] = name end
  end
  if #names == 1 then return ends, 0 end
  local known = ask('HMGET', hash, unpack(names))
  local slack = tonumber(known[1] or nil) or 0
  for i = 2, #names do
    local name, at = names[i], tonumber(known[i] or nil)
    if at and now < at + slack then
      ask('PEXPIRE', name, found_ttl(at, slack))
      ends[name] = at
    elseif at then
      ask('UNLINK', name)
      ask('HDEL', hash, name)
    end
  end
  return ends, slack
end

-- Keeps when a key ends. A TTL is rounded as key_aging.lua does.
local function pause(name, ends, slack)
  local left = ask('PTTL', name)
  if type(left) ~= 'number' or left < 0 then
    if ends then ask('HDEL', hash, name) end
    return
  end
  local changed = not ends or left - found_ttl(ends, slack)
  if changed == true or changed > 1 or changed < -1 then
    local step = left >= 1000 and 10 or left >= 100 and 5 or 1
    ask('HSET', hash, name, format('%.0f', now + ceil(left / step) * step * 1000))
  end
  ask('PEXPIRE', name, left + SPARE)
end

local function is_mine(name)
  if mine[name] == nil then mine[name] = ask('SISMEMBER', registry, name) == 1 end
  return mine[name]
end

local function caller(execute)
  return function(...)
    local command, key = ...
    local places = type(command) == 'string' and makes[lower(command)]
    local count = select('#', ...)
    if count < 2 or count == 2 and declared[key] then return execute(...) end
    local words, absent, ends, slack = { ... }, {}, nil, nil
    if ages then ends, slack = resume(count, words) end
    local at = places and places(count, words) or { 2 }
    for i = 1, #at do
      local name = name_of(words[at[i]])
      if name and not declared[name] then absent[name] = ask('EXISTS', name) == 0 end
    end
    local reply = execute(unpack(words, 1, count))
    for name, was_absent in next, absent do
      if was_absent and ask('EXISTS', name) == 1 then
        ask('SADD', registry, name)
        mine[name] = true
      end
      if ages and not ends[name] and is_mine(name) then pause(name, nil, slack) end
    end
    if ages then
      for name, time in next, ends do pause(name, time, slack) end
    end
    return reply
  end
end

return setmetatable({ call = caller(redis.call), pcall = caller(redis.pcall) }, { __index = redis })
