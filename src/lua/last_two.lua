-- Takes the last two elements off a list.
--
-- Arguments  list
-- Returns    the two

local list = ...
local count = #list
local first, second = list[count - 1], list[count]
list[count], list[count - 1] = nil, nil
return first, second
