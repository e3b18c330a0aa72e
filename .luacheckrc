-- Scripts run in Redis: Lua 5.1 without os and io, and these globals.
std = {
  read_globals = {
    'KEYS', 'ARGV', 'redis', 'cjson', 'cmsgpack', 'struct', 'bit',
    'assert', 'error', 'ipairs', 'loadstring', 'next', 'pairs', 'pcall', 'rawequal', 'rawget', 'rawset',
    'select', 'setmetatable', 'tonumber', 'tostring', 'type', 'unpack', 'xpcall', 'coroutine', 'math', 'string', 'table',
    '_G',
  },
}
max_line_length = 110
max_comment_line_length = 120
