-- What a library of Redis functions gets in place of `redis` for register_function().
--
-- Returns  a table with that function, and functions: what was registered, by name

local functions = {}

local function register_function(name, callback)
  if type(name) == 'table' then name, callback = name.function_name, name.callback end
  functions[name] = callback
end

return { functions = functions, register_function = register_function }
