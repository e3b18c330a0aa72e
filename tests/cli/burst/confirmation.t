# needs: server
# Scripts in rlctl itself, and what a server confirms of them.

## a script runs in rlctl itself, and a server confirms its decisions
$ write counter.lua
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
< return n <= tonumber(ARGV[2]) and 1 or 0
$ rlctl burst counter.lua --limit 2/10s --args '{window_ms} {limit}' --json
{"pattern":"boundary",[..],"confirmation":{"server":"[..]","requests":4,"first_only":false,"why_not":null},"runs":[{"algorithm":"counter.lua","sent":4,"allowed":2,"denied":2,[..],"first_denial_us":1767225610000000,[..]}]}
$ rlctl burst counter.lua --limit 2/10s --args '{window_ms} {limit}' -u private: --json
{"pattern":"boundary",[..],"confirmation":null,"runs":[{"algorithm":"counter.lua","sent":4,"allowed":2,"denied":2,[..],"first_denial_us":1767225610000000,[..]}]}
$ rlctl adversary counter.lua --limit 2/10s --args '{window_ms} {limit}' --tries 500
pattern    adversary
           the schedule that makes a limiter allow the most
limit      2 per 10 s             seed 1, 500 requests for each limiter
script     counter.lua            allowed when its reply is nonzero
clock      virtual time

counter.lua  1.50× the limit: 3 within 1 s
at     requests  allowed  denied
0             1        1       0
+10 s         1        1       0
+11 s         2        2       0
denied exactly one window after, where an exact log would allow
at     requests  allowed  denied
0             2        2       0
+10 s         1        0       1
edge       the limiter denies exactly one window after a unit, where an exact
           log allows, and allows a moment later: it compares with > instead of
           >=, or it rounds; no other denial differed in what was tried
times      from the beginning of a window  2026-01-01T00:00:00Z

server     confirmed on [..]  1284 requests decided alike

rlctl adversary counter.lua --limit 2/10s --args '{window_ms} {limit}' \
    --tries 500 --seed 1

## without a server, the report says that nothing confirmed it
$ write counter.lua
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
< return n <= tonumber(ARGV[2]) and 1 or 0
$ without-server
$ rlctl adversary counter.lua --limit 2/10s --args '{window_ms} {limit}' --tries 500
pattern    adversary
           the schedule that makes a limiter allow the most
limit      2 per 10 s             seed 1, 500 requests for each limiter
script     counter.lua            allowed when its reply is nonzero
clock      virtual time

counter.lua  1.50× the limit: 3 within 1 s
at     requests  allowed  denied
0             1        1       0
+10 s         1        1       0
+11 s         2        2       0
denied exactly one window after, where an exact log would allow
at     requests  allowed  denied
0             2        2       0
+10 s         1        0       1
edge       the limiter denies exactly one window after a unit, where an exact
           log allows, and allows a moment later: it compares with > instead of
           >=, or it rounds; no other denial differed in what was tried
times      from the beginning of a window  2026-01-01T00:00:00Z

server     not confirmed on a server  none is installed

rlctl adversary counter.lua --limit 2/10s --args '{window_ms} {limit}' \
    --tries 500 --seed 1
$ rlctl burst counter.lua --limit 2/10s --args '{window_ms} {limit}'
pattern    boundary
           the limit in the last 10 ms of a window, and again in the next 10 ms
limit      2 per 10 s             seed 1
script     counter.lua            allowed when its reply is nonzero
clock      virtual time

             sent  allowed  denied  worst in 10 s  within      at  first denial
counter.lua     4        2       2       2  1.00×    5 ms  -10 ms             0

             longest lockout  retry_after  bytes/key
counter.lua             5 ms            -          -
times      from the edge of a window  2026-01-01T00:00:10Z
note       counter.lua: never above the limit with this traffic; adversary
           searches for traffic that gets more through

counter.lua  never above the limit
      2 ├───────────────────────── limit
        │          █████████████████████
      0 │███████████████████████████████
allowed │█·········█····················
 denied │····················▓·········▓
        └────────────────────┴─────────┘
         -10 ms                  +5.5 ms
chart      allowed within the last 10 s  against the limit
rows       requests               a column is 500 µs, the highest 1

server     not confirmed on a server  none is installed

rlctl burst boundary counter.lua --limit 2/10s --args '{window_ms} {limit}' \
    --seed 1

## a command that rlctl does not have is refused by name, and runs on a server
$ write any.lua
< redis.call('SADD', KEYS[1], 'a', 'b')
< return redis.call('SPOP', KEYS[1]) and 1
$ rlctl burst any.lua --limit 2/10s --args '{now_ms}' -q
! rlctl: burst: any.lua:2: SPOP of a random member is not implemented here; request 1 had KEYS '1' and ARGV '1767225609990'
!   hint: a server has it: burst and adversary run scripts there with -u private:, debug with --ldb
[2]
$ rlctl burst any.lua --limit 2/10s --args '{now_ms}' -q -u private:

## a key exists until the millisecond in which it expires has passed, as in Redis
$ write once.lua
< return redis.call('SET', KEYS[1], 1, 'NX', 'PX', ARGV[1]) and 1 or 0
$ rlctl adversary once.lua --limit 1/1s --args '{window_ms}' --tries 200
pattern    adversary
           the schedule that makes a limiter allow the most
limit      1 per 1 s              seed 1, 200 requests for each limiter
script     once.lua               allowed when its reply is nonzero
clock      virtual time

once.lua  never above the limit
at  requests  allowed  denied
0          1        1       0
denied exactly one window after, where an exact log would allow
at    requests  allowed  denied
0            1        1       0
+1 s         1        0       1
edge       found such denials only exactly one window after a unit; whether they
           end there was not established
times      from the beginning of a window  2026-01-01T00:00:00Z

server     confirmed on [..]  408 requests decided alike

rlctl adversary once.lua --limit 1/1s --args '{window_ms}' --tries 200 \
    --seed 1

## an exhaustive search goes on from each state that a script leaves, and a server repeats a sample of such a search
$ write counter.lua
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
< return n <= tonumber(ARGV[2]) and 1 or 0
$ rlctl adversary counter.lua --limit 2/10s --args '{window_ms} {limit}' --exhaustive 4 -q --assert 'worst>=1'
$ rlctl adversary fixed-window --limit 2/10s --exhaustive 3 --json
{"pattern":"adversary",[..],"confirmation":{"server":"[..]","requests":997,"first_only":false,"why_not":null},"runs":[{"algorithm":"fixed-window",[..],"tried":637,[..]}]}

## a function that the library does not register is an error
$ write lib.lua
< #!lua name=l
< if false then redis.register_function('take', function() return 1 end) end
< redis.register_function('other', function() return 1 end)
$ rlctl burst lib.lua --limit 2/10s --head 'function take' -q
! rlctl: burst: warning: no time passes for lib.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: lib.lua: Function not found; request 1 had KEYS '1' and ARGV none
!   hint: an error is not taken for a denial: let the script return a value for it, and say which with --allowed-when
[5]

## what only a server has ends the run, whatever the script catches
$ write resp.lua
< local has_resp3 = pcall(redis.setresp, 3)
< return has_resp3 and 1 or 0
$ rlctl burst resp.lua --limit 2/10s --args '{now_ms}' -q
! rlctl: burst: resp.lua:1: redis.setresp(3) is not implemented here; request 1 had KEYS '1' and ARGV '1767225609990'
!   hint: a server has it: burst and adversary run scripts there with -u private:, debug with --ldb
[2]
$ write sort.lua
< local n = redis.call('INCR', KEYS[1])
< if not pcall(redis.call, 'SORT', KEYS[1]) then return 1 end
< return n <= 2 and 1 or 0
$ rlctl lint sort.lua --limit 2/10s --args '{now_ms}'
! rlctl: lint: sort.lua:2: SORT is not implemented here; request 1 had KEYS 'ann' and ARGV '1767225600748'
!   hint: a server has it: burst and adversary run scripts there with -u private:, debug with --ldb
[3]
$ write packed.lua
< return cmsgpack.pack(1) and 1
$ rlctl burst packed.lua --limit 2/10s --args '{now_ms}' -q
! rlctl: burst: packed.lua:1: cmsgpack is not implemented here; request 1 had KEYS '1' and ARGV '1767225609990'
!   hint: a server has it: burst and adversary run scripts there with -u private:, debug with --ldb
[2]
