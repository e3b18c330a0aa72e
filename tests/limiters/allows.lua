-- Everything is allowed.
--
-- $ rlctl lint allows.lua
-- ! allows.lua: nothing was denied: the script's own limit differs, or its reply is misread; see --allowed-when
-- [3]
-- $ rlctl lint allows.lua --limit 1000/60s
-- ! the limit 1000/60s is scaled down to 20/60s: the traffic must exceed it
-- ! nothing was denied
-- [3]

return 1
