# needs: server
# Each report of the adversary as a whole.

## the schedule under which limiters allow the most
$ rlctl adversary --limit 3/10s --model
pattern    adversary
           the schedule that makes a limiter allow the most
limit      3 per 10 s             seed 1, 50000 requests for each limiter
clock      virtual time

fixed-window  2.00× the limit: 6 within 1 s
at     requests  allowed  denied
+9 s          3        3       0
+10 s         3        3       0
promise    twice the limit, half of it on each side of a window's edge

sliding-window-log  never above the limit
at  requests  allowed  denied
0          3        3       0
promise    the limit
denied     nothing that an exact log would allow
times      from the beginning of a window  2026-01-01T00:00:00Z

rlctl adversary fixed-window sliding-window-log --limit 3/10s --model \
    --tries 50000 --seed 1
$ rlctl adversary --limit 3/10s --model --json
{"pattern":"adversary","seed":1,"clock":"virtual","limit":3,"window_us":10000000,"burst":null,"cost":1,"costs":[1],"tries":50000,"exhaustive":null,"base_us":1767225600000000,"command":"rlctl adversary fixed-window sliding-window-log --limit 3/10s --model --tries 50000 --seed 1","interrupted":false,"confirmation":null,"runs":[{"algorithm":"fixed-window","asked":50610,"tick_us":1,"unbounded":false,"tried":null,"undecided":0,"ttls_left_out":0,"clock_ahead":null,"most":{"worst":{"allowed":6,"ratio":2,"from_us":1767225609000000,"span_us":1000000},"wrongly_denied":[],"denied_at_edge":0,"schedule":[{"at_us":1767225609000000,"cost":1,"allowed":true,"remaining":2,"retry_after_us":0,"delay_us":0},{"at_us":1767225609000000,"cost":1,"allowed":true,"remaining":1,"retry_after_us":0,"delay_us":0},{"at_us":1767225609000000,"cost":1,"allowed":true,"remaining":0,"retry_after_us":0,"delay_us":0},{"at_us":1767225610000000,"cost":1,"allowed":true,"remaining":2,"retry_after_us":0,"delay_us":0},{"at_us":1767225610000000,"cost":1,"allowed":true,"remaining":1,"retry_after_us":0,"delay_us":0},{"at_us":1767225610000000,"cost":1,"allowed":true,"remaining":0,"retry_after_us":0,"delay_us":0}]},"most_stepping_back":null,"by_rounding":null,"wrongly_denied":null,"hint":null},{"algorithm":"sliding-window-log","asked":50221,"tick_us":1,"unbounded":false,"tried":null,"undecided":0,"ttls_left_out":0,"clock_ahead":null,"most":{"worst":{"allowed":3,"ratio":1,"from_us":1767225600000000,"span_us":0},"wrongly_denied":[],"denied_at_edge":0,"schedule":[{"at_us":1767225600000000,"cost":1,"allowed":true,"remaining":2,"retry_after_us":0,"delay_us":0},{"at_us":1767225600000000,"cost":1,"allowed":true,"remaining":1,"retry_after_us":0,"delay_us":0},{"at_us":1767225600000000,"cost":1,"allowed":true,"remaining":0,"retry_after_us":0,"delay_us":0}]},"most_stepping_back":null,"by_rounding":null,"wrongly_denied":null,"hint":null}]}

## a semaphore of somebody else
$ copy examples/pitfalls/negative-counter.lua
$ rlctl adversary --concurrency 2 --lease 10s negative-counter.lua --args '{event} {limit}'
pattern    adversary
           the schedule that holds too many leases, or loses a slot
limit      2 leases of 10 s
           seed 1, 50000 events for each limiter
script     negative-counter.lua   allowed when its reply is nonzero
clock      virtual time

negative-counter.lua
  3 held at once, 1 more than the limit; 5 in longer schedules
at  holder    event   answer  held
0       h1  release              0  never held
0       h2  acquire  allowed     1
0       h3  acquire  allowed     2
0       h4  acquire  allowed     3
negative-counter.lua
  2 slots lost: nobody has them, and nobody gets them, not even a year later
at     holder    event   answer  held
0          h1  acquire  allowed     1
0          h2  acquire  allowed     2
+40 s      h3  acquire   denied     0

server     confirmed on [..]

rlctl adversary negative-counter.lua --args '{event} {limit}' --concurrency 2 \
    --lease 10s --tries 50000 --seed 1
! rlctl: adversary: warning: no time passes for negative-counter.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}

## a schedule is written, and replayed
$ rlctl adversary --limit 3/10s --model fixed-window -q --write worst.jsonl
$ cat worst.jsonl
# rlctl burst fixed-window --limit 3/10s --model --replay worst.jsonl
# rlctl adversary fixed-window --limit 3/10s --model --tries 50000 --seed 1
# fixed-window: 6 allowed within 1 s, 0 of 6 requests wrongly denied
1767225609 1 1
1767225609 1 1
1767225609 1 1
1767225610 1 1
1767225610 1 1
1767225610 1 1
$ rlctl burst --replay worst.jsonl --limit 3/10s --model fixed-window
replay     worst.jsonl            epoch, 6 requests in 9 lines
traffic    6 requests             1 key
from       2026-01-01T00:00:09Z   to 2026-01-01T00:00:10Z
limit      3 per 10 s
clock      virtual time

              sent  allowed  denied   of all  worst in 10 s  within
fixed-window     6        6       0  0.000 %       6  2.00×     1 s

                                at  first denial  longest lockout  retry_after
fixed-window  2026-01-01T00:00:09Z             -                -            -

              bytes/key  worst minute  denied in it
fixed-window          -             -             -
why        fixed-window: its counter starts over at 2026-01-01T00:00:10Z, so
           3 requests before that and 3 after it were allowed within 1 s

fixed-window  2.00× the limit: 6 within 1 s
      6 │                                                  █
        │                                                  █
      3 ├───────────────────────────────────────────── limit
        │███████████████████████████████████████████████████
      0 │███████████████████████████████████████████████████
allowed │█·················································█
 denied │···················································
        └──────────┴─────────┴─────────┴─────────┴─────────┘
         2026-01-01 00:00:09      00:00:09.6     00:00:10.02
chart      allowed within the last 10 s  against the limit
rows       requests               a column is 20 ms, the highest 3
times      in UTC

rlctl burst fixed-window --limit 3/10s --model --replay worst.jsonl

## leases and reservations
$ rlctl adversary --concurrency 2 --lease 5s
pattern    adversary
           the schedule that holds too many leases, or loses a slot
limit      2 leases of 5 s
           seed 1, 50000 events for each limiter
clock      virtual time

concurrency  at most 2 of 2 held at once, no slot lost

server     confirmed on [..]

rlctl adversary concurrency --concurrency 2 --lease 5s --tries 50000 --seed 1
$ rlctl adversary --reserve 2 --limit 4/10s
pattern    adversary
           the schedule that spends and holds too much, or loses units
limit      4 per 10 s             seed 1, 50000 events for each limiter
units      2 or all reserved for 30 s
clock      virtual time

budget  at most 4 of 4 units spent and held, none lost

server     confirmed on [..]

rlctl adversary budget --limit 4/10s --reserve 2 --hold 30s --tries 50000 \
    --seed 1

## an assertion that fails
$ rlctl adversary --limit 3/10s --model fixed-window sliding-window-log -q --assert 'worst<=1'
! rlctl: adversary: assertion 'worst<=1' does not hold: fixed-window has 2
[1]
