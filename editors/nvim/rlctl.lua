-- Lets nvim-dap start `rlctl debug --dap`. Copy this file into your configuration, or load it:
--
--   :luafile editors/nvim/rlctl.lua
--
-- The section IN AN EDITOR of rlctl-debug(1) describes the attributes of a configuration.
local dap = require('dap')

dap.adapters.rlctl = {type = 'executable', command = 'rlctl', args = {'debug', '--dap'}}

dap.configurations.lua = dap.configurations.lua or {}
table.insert(dap.configurations.lua, {
  type = 'rlctl',
  request = 'launch',
  name = 'Redis Lua: this file',
  program = '${file}',
  keys = {'ann'},
  server = 'private:',
})
