# needs: server
# dash.bats and refusals.tsv have what a - means before a --.

## after -- and on standard input, a - is the KEY of that name; a file of that name is ./-
$ rlctl check --limit 5/60s --algorithm gcra -- -
allowed key=- limit=5/60s algorithm=gcra remaining=4 reset=12.000s
$ rlctl quota -- -
RATELIMIT OK - - 20% used (1 of 5)[..]
$ rlctl inspect --json -- -
{"key":"-",[..]
$ rlctl list --json -- -
{"key":"-",[..]
$ rlctl audit -- -
no findings in 1 limiter key
$ write one.lua
< return redis.call('EXISTS', KEYS[1])
$ rlctl debug one.lua --trace -- -
+ one.lua:1  return redis.call('EXISTS', KEYS[1])
|   redis> EXISTS -      1
= 1    1 line, 1 redis call; nothing was changed
! rlctl: debug: running in this process with '-' copied from SERVER
$ rlctl reset --limit 5/60s -- -
removed key=- algorithm=gcra
$ rlctl settle --limit 5/60s -- - id 1
unknown key=- limit=5/60s algorithm=budget reservation=id was=unknown remaining=5 reset=0.000s
[1]
$ keys
$ rlctl check -q --limit 5/60s -- -
$ rlctl reset --limit 5/60s -
< -
removed key=- algorithm=sliding-window-log
$ env RLCTL_CONFIG=-
$ rlctl check k --limit 5/60s
! rlctl: check: RLCTL_CONFIG: '-' is not a file
!   hint: a file of that name is ./-
[2]
