-- Nothing is allowed, so that nothing is known.
--
-- $ rlctl lint denies.lua
-- ! rlctl: lint: warning: denies.lua: nothing was allowed: see --allowed-when for how to read the reply
-- [3]
-- $ rlctl lint denies.lua --concurrency 2 --args '{event}'
-- > no findings in what was tested
-- > what becomes of leases: nothing was allowed
-- [3]
-- $ rlctl lint denies.lua --limit 10/60s --reserve 4 --args '{event} {cost} {actual}'
-- > no findings in what was tested
-- > what becomes of reservations: nothing was allowed
-- [3]

return 0
