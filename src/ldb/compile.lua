-- Compiles a script as the server does, without running it.
--
-- ARGV[1]  the script
-- Reply    its bytecode, or the error of a script that does not compile

local script, message = loadstring(ARGV[1], '@user_script')
-- Before 7.0 the script is the body of a function whose `end` has its own line.
if script and not redis.REDIS_VERSION_NUM then
  script, message = loadstring('return function() ' .. ARGV[1] .. '\nend', '@user_script')
  script = script and script()
end
if not script then return redis.error_reply('ERR Error compiling script (new function): ' .. message) end
return string.dump(script)
