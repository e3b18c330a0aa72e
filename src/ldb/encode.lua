-- Writes values for the debugger, as text of letters, digits and signs that no server quotes.
--
-- Arguments  aliases  by a table, the value to write in its place
-- Returns    encode(text)        a text without other signs: %XX stands for a byte
--            plain(value, kind)  a value that is not a table; `kind` is its type
--            table_text(table)   a table
-- n nil, t true, f false, d number, s string; o and the type for a function and the like; c for a table
-- within itself or nested too deep; {d1;d2;sx=d3;} a table: a value without a key has the next whole number
-- as its key, and ~9; says that fields are left out and that #table is 9.

local aliases = ...
local next, setmetatable, type = next, setmetatable, type
local byte, format, gsub, concat = string.byte, string.format, string.gsub, table.concat

local DEEPEST, MOST_FIELDS, FIELD_BYTES = 100, 1000, 1024

local codes = setmetatable({}, {
  __index = function(known, c)
    local code = format('%%%02X', byte(c))
    known[c] = code
    return code
  end,
})

local function encode(text)
  return (gsub(text, '[^%w_./-]', codes))
end

local function plain(value, kind)
  if kind == 'number' then return format('d%.17g', value) end
  if kind == 'string' then return 's' .. encode(value) end
  if kind == 'boolean' then return value and 't' or 'f' end
  if kind == 'nil' then return 'n' end
  return 'o' .. kind
end

local pieces, size, around, left -- of the table being written; left: how many fields may follow

local function add(value, depth)
  local kind = type(value)
  size = size + 1
  if kind ~= 'table' then
    if kind == 'string' then left = left - #value / FIELD_BYTES end
    pieces[size] = plain(value, kind)
    return
  end
  value = aliases[value] or value
  if around[value] or depth == DEEPEST then
    pieces[size] = 'c'
    return
  end
  around[value] = true
  pieces[size] = '{'
  local index = 1
  for key, field in next, value do
    if left < 1 then
      size = size + 1
      pieces[size] = '~' .. #value .. ';'
      break
    end
    left = left - 1
    if key == index then
      index = index + 1
    else
      add(key, depth + 1)
      size = size + 1
      pieces[size] = '='
    end
    add(field, depth + 1)
    size = size + 1
    pieces[size] = ';'
  end
  around[value] = nil
  size = size + 1
  pieces[size] = '}'
end

local function table_text(value)
  pieces, size, around, left = {}, 0, {}, MOST_FIELDS
  add(value, 0)
  return concat(pieces, '', 1, size)
end

return encode, plain, table_text
