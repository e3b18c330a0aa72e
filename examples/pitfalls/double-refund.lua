-- A budget: a reservation holds units until double-refund-settle.lua replaces them with the actual
-- cost, or until its hold ends.
--
-- What goes wrong: units are given back when a hold ends, and once more when it is settled late. Then
-- less counts as held than is, and the same units are given to two at once.
--
-- rlctl: limit 10/60s
-- rlctl: args {limit} {window_ms} {now_ms} {reservation} {cost} {hold_ms} {actual}
-- rlctl: settle double-refund-settle.lua
--
-- $ rlctl adversary --reserve 10 --hold 10s double-refund.lua budget
-- > 20 units spent and held, 10 more than the limit
-- > budget at most 10 of 10 units spent and held, none lost
-- $ rlctl lint double-refund.lua --reserve 10 --hold 10s
-- > A settle gives back units that were given back before
-- > r1 settles 0 (hold had
-- want: double-refund critical

local key, limit, window, now = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local id, units, hold = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])

local stored = redis.call('GET', key)
local budget = stored and cjson.decode(stored) or {spent = 0, held = 0, holds = {}}
local window_ends = now - now % window + window
if budget.window_ends ~= window_ends then budget.window_ends, budget.spent = window_ends, 0 end
for _, its in pairs(budget.holds) do
  if its.ends <= now and not its.lapsed then
    budget.held, its.lapsed = budget.held - its.units, true
  end
end

if budget.holds[id] then return 1 end -- asked for again
if budget.spent + budget.held + units > limit then return 0 end
budget.held = budget.held + units
budget.holds[id] = {units = units, ends = now + hold}
redis.call('SET', key, cjson.encode(budget), 'PX', window + 2 * hold)
return 1
