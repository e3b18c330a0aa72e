-- In front of a library of Redis functions: each function that it registers gets substitutes at each call.
--
-- Arguments  current     replies the server's `redis` of this moment: with register_function() while the
--                        library is loaded, with call() in a function
--            substitute  a function of that `redis`, a function's keys and its arguments, from which it
--                        takes its own; it replies what takes the place of `redis`
-- Returns    what the library gets instead of `redis`, and a function that replies it for the server's, which
--            is Valkey's `server`, too, and any other value as it is
--
-- While a library is loaded, there are no globals but `redis`, and of that only a few fields.

local current, substitute = ...

local loading = current()
local library = {
  log = loading.log,
  LOG_DEBUG = loading.LOG_DEBUG,
  LOG_VERBOSE = loading.LOG_VERBOSE,
  LOG_NOTICE = loading.LOG_NOTICE,
  LOG_WARNING = loading.LOG_WARNING,
}

local function with_substitutes(callback)
  return callback and function(keys, arguments)
    local redis = current()
    local inner = substitute(redis, keys, arguments)
    library.call, library.pcall = inner.call, inner.pcall
    setmetatable(library, { __index = redis })
    return callback(keys, arguments)
  end
end

function library.register_function(name, callback)
  if callback then return loading.register_function(name, with_substitutes(callback)) end
  name.callback = with_substitutes(name.callback) -- it is a table
  return loading.register_function(name)
end

return library, function(server)
  if server == current() then return library end
  return server
end
