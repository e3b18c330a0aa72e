-- Settles what double-refund.lua has reserved, which has the commands. Both have the same ARGV:
-- {limit} {window_ms} {now_ms} {reservation} {cost} {hold_ms} {actual}

local key, window, now = KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local id, hold, actual = ARGV[4], tonumber(ARGV[6]), tonumber(ARGV[7])

local stored = redis.call('GET', key)
local budget = stored and cjson.decode(stored)
local its = budget and budget.holds[id]
if not its then return 0 end
local window_ends = now - now % window + window
if budget.window_ends ~= window_ends then budget.window_ends, budget.spent = window_ends, 0 end
budget.held = budget.held - its.units -- also if the hold has ended
budget.spent = budget.spent + actual
budget.holds[id] = nil
redis.call('SET', key, cjson.encode(budget), 'PX', window + 2 * hold)
return 1
