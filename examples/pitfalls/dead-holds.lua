-- A budget: a reservation holds units until it is settled with the actual cost.
--
-- What goes wrong: nothing ends a hold. Units whose holder has died are held for ever, so that less and
-- less is left of each window, and finally nothing.
--
-- rlctl: limit 10/60s
-- rlctl: args {event} {limit} {window_ms} {now_ms} {reservation} {cost} {actual}
--
-- $ rlctl adversary --reserve 10 --hold 10s dead-holds.lua budget
-- > a reserve of 10 units is denied, although none is spent or held,
-- > even a year later
-- > budget at most 10 of 10 units spent and held, none lost
-- $ rlctl lint dead-holds.lua --reserve 10 --hold 10s
-- want: endless-hold critical, no-ttl warning

local key, event, limit, window = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local now, id, units, actual = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])

local stored = redis.call('GET', key)
local budget = stored and cjson.decode(stored) or {spent = 0, holds = {}}
local window_ends = now - now % window + window
if budget.window_ends ~= window_ends then budget.window_ends, budget.spent = window_ends, 0 end

if event == 'settle' then
  if not budget.holds[id] then return 0 end
  budget.spent, budget.holds[id] = budget.spent + actual, nil
elseif not budget.holds[id] then
  local used = budget.spent
  for _, held in pairs(budget.holds) do used = used + held end
  if used + units > limit then return 0 end
  budget.holds[id] = units
end
redis.call('SET', key, cjson.encode(budget))
return 1
