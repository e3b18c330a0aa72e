-- A budget in one key: reservations hold units until they are settled with the actual cost, or until their hold ends.
-- Both are kept for another hold, so that a repeated settle is known.
--
-- rlctl: limit 10/60s
-- rlctl: args {event} {limit} {window_ms} {now_ms} {reservation} {cost} {hold_ms} {actual}
--
-- $ rlctl lint budget.lua --reserve 4 --hold 10s
-- > holders that die
-- > also repeated, after the
-- > whether keys expire
-- > rlctl adversary

local limit, window, now = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local id, units, hold, actual = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local stored = redis.call('GET', KEYS[1])
local budget = stored and cjson.decode(stored) or {spent = 0, held = 0, holds = {}}
local number = math.floor(now / window)
if budget.number ~= number then budget.number, budget.spent = number, 0 end
for other, its in pairs(budget.holds) do
  if its.ends <= now and its.units > 0 then budget.held, its.units = budget.held - its.units, 0 end
  -- Nothing ends a hold:
  -- or: -- want: leaked-units critical
  if its.ends + hold <= now then budget.holds[other] = nil end
end
local its = budget.holds[id]
if ARGV[1] == 'settle' then
  if not its or its.settled then return 0 end
  -- A settle that comes twice is spent twice:
  -- or: if not its then return 0 end  -- want: spent-twice critical
  -- A late settle is forgotten:
  -- or: if not its or its.settled or its.units == 0 then return 0 end  -- want: unspent critical
  -- It gives back the units of whoever it is:
  -- or: its = its or {units = units}  -- want: double-refund critical, spent-twice critical
  budget.held, budget.spent = budget.held - its.units, budget.spent + actual
  -- It gives back the units again after the hold has ended:
  -- or: budget.held, budget.spent = budget.held - units, budget.spent + actual  -- want: unspent critical
  -- The actual cost is not spent, or not what exceeds the units:
  -- or: budget.held = budget.held - its.units  -- want: unspent critical
  -- or: budget.held, budget.spent = budget.held - its.units, budget.spent + math.min(actual, units)
  -- want: unspent critical
  its.units, its.settled = 0, true
elseif not its then
  -- One that is asked for again is held twice:
  -- or: else  -- want: leaked-units critical
  if budget.spent + budget.held + units > limit then return 0 end
  budget.held, budget.holds[id] = budget.held + units, {units = units, ends = now + hold}
end
redis.call('SET', KEYS[1], cjson.encode(budget), 'PX', window + 2 * hold)
return 1
