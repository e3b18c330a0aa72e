-- Runs code for the debugger's `eval`. Some servers accept no more than 1024 bytes of it, so this is short.
--
-- Arguments  encoder       encode.lua as a function
--            prelude       Lua to put in front of the code
--            code          an expression or statements
--            is_statement  it is no expression
-- Returns    R (its results), E (the error that it raised) or C (that it does not compile), and each value
--            after a semicolon

local encoder, prelude, code, is_statement = ...
local _, plain, table_text = encoder({})
assert(table_text)

local function told(outcome, ...)
  for i = 1, select('#', ...) do
    local v = select(i, ...)
    local kind = type(v)
    outcome = outcome .. ';' .. (kind == 'table' and table_text(v) or plain(v, kind))
  end
  return outcome
end
local function ran(done, ...) return told(done and 'R' or 'E', ...) end

local run, message = loadstring(prelude .. (is_statement and '' or 'return ') .. code, '=eval')
run = run or not is_statement and loadstring(prelude .. code, '=eval')
return run and ran(pcall(run)) or told('C', message)
