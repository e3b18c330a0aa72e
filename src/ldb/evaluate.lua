-- Runs code for the debugger's `eval`. Some servers accept no more than 1024 bytes with the code and copies
-- of variables, hence the short names.
--
-- Arguments  h  as the metatable of KEYS: at 2 encode.lua as a function, at 3 the `redis` for the code,
--               if it is not the global one
--            p  Lua to put in front of the code
--            c  the code: an expression or statements
--            s  whether it can only be statements
-- Returns    R (its results), E (the error that it raised) or C (that it does not compile), and each value
--            after a semicolon; N without an encoder, and then nothing was run

local h, p, c, s = ...
local encoder = h and h[2]
if type(encoder) ~= 'function' then return 'N' end
local _, plain, list = encoder({})
local r = h[3]
if r then p = 'local redis=... ' .. p end

local function told(out, ...)
  for i = 1, select('#', ...) do
    local v = select(i, ...)
    local k = type(v)
    out = out .. ';' .. (k == 'table' and list(v) or plain(v, k))
  end
  return out
end
local function ran(done, ...) return told(done and 'R' or 'E', ...) end

local f, e = loadstring(p .. (s and '' or 'return ') .. c, '=eval')
f = f or not s and loadstring(p .. c, '=eval')
return f and ran(pcall(f, r)) or told('C', e)
