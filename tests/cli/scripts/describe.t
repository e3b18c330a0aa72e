# needs: server

## describe proposes a head that was seen to deny and to allow
$ write my.lua
< local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('PEXPIRE', KEYS[1], window) end
< return n
$ rlctl scripts describe my.lua
-- rlctl: limit 5/60s
-- rlctl: args {limit} {window_ms}
-- rlctl: allowed r <= limit
Not found out:
    remaining, retry_after, reset_after: whether the reply has them
$ rlctl scripts describe my.lua --json
{"file":"my.lua","head":["limit 5/60s","args {limit} {window_ms}","allowed r <= limit"],"unknown":["remaining, retry_after, reset_after: whether the reply has them"]}

## describe says what it could not find out
$ write two.lua
< local limit, period_s = tonumber(ARGV[1]), tonumber(ARGV[3])
< redis.call('SET', KEYS[1], ARGV[2], 'EX', period_s)
< return redis.call('EXISTS', KEYS[2])
$ rlctl scripts describe two.lua
-- rlctl: keys {{key}} {{key}}:2
Not found out:
    keys: which names the script's callers give them
    limit, args and allowed: with nothing that was tried did it keep both 5/60s and 3/20s; its limit may be its own
$ write always.lua
< return 1
$ rlctl scripts describe always.lua
Not found out:
    limit, args and allowed: with nothing that was tried did it keep both 5/60s and 3/20s; its limit may be its own
$ write broken.lua
< return 'open
$ rlctl scripts describe broken.lua
! rlctl: scripts: broken.lua is not Lua
[2]
$ write head.lua
< -- rlctl: args {limit}
< return 1
$ rlctl scripts describe head.lua
! rlctl: scripts: 'head.lua' has a head already: args
!   hint: rlctl lint head.lua tests the script as its head says
[2]
$ rlctl scripts describe none.lua
! rlctl: scripts: cannot read 'none.lua': no such file or directory
! Try 'rlctl scripts describe --help'.
[2]
$ rlctl scripts describe
! rlctl: scripts: no FILE given
!   hint: rlctl scripts describe my.lua
[2]

## describe proposes no limit that the script does not take
$ write own.lua
< local width, grid = tonumber(ARGV[1]), ARGV[2]
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('PEXPIRE', KEYS[1], width) end
< return n <= 8 and 1 or 0
$ rlctl scripts describe own.lua
Not found out:
    args: what ARGV[1] is, which becomes width; each of limit, window_ms, window_s, now_ms, now_s, cost was tried
    args: what ARGV[2] is, which becomes grid; each of limit, window_ms, window_s, now_ms, now_s, cost was tried
    limit, args and allowed: with nothing that was tried did it keep both 5/60s and 3/20s; its limit may be its own
