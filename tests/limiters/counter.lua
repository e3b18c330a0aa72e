-- A counter whose window begins with its first request. No line of it is wrong, but a client that knows when its
-- window ends gets nearly twice the limit through around that moment.
--
-- rlctl: args {window_ms} {now_ms}
-- rlctl: allowed <=limit
--
-- $ rlctl lint counter.lua
-- $ rlctl adversary --tries 2000 counter.lua
-- > counter.lua 1.80× the limit: 9 within

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
-- To the end of the clock's window:
-- or: if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1] - ARGV[2] % ARGV[1]) end
-- It never ends:
-- or: -- want: no-ttl critical at 'INCR'
-- Denied requests renew it:
-- or: redis.call('PEXPIRE', KEYS[1], ARGV[1])  -- want: denied-write critical
-- Milliseconds for seconds, which no jitter hides:
-- or: if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1] - #KEYS[1] % 2) end  -- want: mixed-units critical
-- A denied client begins anew, which is not a limit that clients share:
-- or: if count > 5 then redis.call('DEL', KEYS[1]) elseif count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
-- want: free-pass critical at 'INCR'
-- A key that is not in KEYS:
-- or: redis.call('SET', 'last', count, 'PX', ARGV[1])  -- want: undeclared-key warning, no-ttl critical at 'INCR'
return count
