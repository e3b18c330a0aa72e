# needs: server
# Programs that rlctl starts, and when it starts none. Without a lease, rlctl becomes its program, which would end this
# one: see run.bats.

## denied: one line, and the program does not run
$ rlctl check -q k --limit 2/10m --cost 2
$ rlctl run k --limit 2/10m -- echo ran
! rlctl: run: denied: 'k' has reached its limit of 2/10m; retry in [..]
[75]
$ rlctl run -q k --limit 2/10m -- echo ran
[75]
$ rlctl run -q -E 0 k --limit 2/10m -- echo ran
$ rlctl run -q k --denied-status=255 --limit 2/10m -- echo ran
[255]
$ rlctl run k --limit 2/10m --wait=0s -- echo ran
! rlctl: run: denied: 'k' has reached its limit of 2/10m; retry in [..]
[75]
$ rlctl run --json k --limit 2/10m -- echo ran
! {"key":"k","algorithm":"sliding-window-log","allowed":false,"cost":1,"remaining":0,"retry_after_us":5[..],"reset_after_us":5[..],"delay_us":0,"limits":[{"key":"k","limit":2,"window_us":600000000,"burst":null}],"denied_by":"k"}
[75]
$ rlctl run other --limit 2/10m --cost 3 -- echo ran
! rlctl: run: denied: 'other' has reached its limit of 2/10m, which never allows a cost of 3
[75]

## several limits are one decision, in the keys of check
$ rlctl run k --limit 5/10m --limit 1/1h --concurrency 1 -- echo ran
ran
$ rlctl run k --limit 5/10m --limit 1/1h -- echo ran
! rlctl: run: denied: 'k' has reached its limit of 1/1h; retry in [..]
[75]
$ rlctl run k --limit 5/10m --limit 1/1h --wait=1s --concurrency 1 -- echo ran
! rlctl: run: denied: 'k' has reached its limit of 1/1h; retry in [..]
[75]
$ rlctl check -q k --limit 5/10m --limit 1/1h
[1]
$ rlctl check k --limit 5/10m --limit 9/1h --peek
allowed key=k limit=5/10m,9/1h remaining=4 reset=[..]

## a policy has the limits and makes the key
$ write config.toml
< [policy.job]
< key = "job:%s:%s"
< limit = "1/1h"
< algorithm = "gcra"
$ rlctl run --config config.toml --policy job web1 nightly --concurrency 1 -- echo ran
ran
$ rlctl run --config config.toml --policy job web1 nightly -- echo ran
! rlctl: run: denied: 'job:web1:nightly' has reached its limit of 1/1h; retry in [..]
[75]
$ rlctl run --config config.toml --policy job web1 -- echo ran
! rlctl: run: policy 'job' (key job:%s:%s) takes 2 arguments, not 1: 'web1'
! Try 'rlctl run --help'.
[125]
$ rlctl run --config config.toml --policy none -- echo ran
! rlctl: run: no policy 'none' in config.toml (it has: job)
! Try 'rlctl run --help'.
[125]
$ redis KEYS *
job:web1:nightly

## a program that cannot be run is reported before anything is taken, and without a connection
$ env RLCTL_URL=unix:///nowhere PATH=/usr/bin:/bin:FOLDER
$ write plain
< echo never
$ write folder/file
$ rlctl run k --limit 1/10m -- no-such-command-anywhere
! rlctl: run: cannot run 'no-such-command-anywhere': no such file or directory
[127]
$ rlctl run k --limit 1/10m -- ./no-such-file
! rlctl: run: cannot run './no-such-file': no such file or directory
[127]
$ rlctl run k --limit 1/10m -- ''
! rlctl: run: cannot run '': no such file or directory
[127]
$ rlctl run k --limit 1/10m --concurrency 1 -- ./plain
! rlctl: run: cannot run './plain': permission denied
[126]
$ rlctl run k --limit 1/10m -- ./folder
! rlctl: run: cannot run './folder': is a directory
[126]
$ rlctl run k --limit 1/10m -- plain
! rlctl: run: cannot run 'plain': permission denied
[126]
$ rlctl run k --limit 1/10m --json -- no-such-command-anywhere
! {"error":{"code":"not_found","message":"cannot run 'no-such-command-anywhere': no such file or directory","hint":null}}
[127]

## a program whose interpreter is missing: the lease is released
$ write script
< #!/no/such/interpreter
$ chmod 755 script
$ rlctl run k --concurrency 1 -- ./script
! rlctl: run: cannot run './script': no such file or directory
!   hint: the interpreter that its #! line names may be missing
[126]
$ keys
$ rlctl run k --limit 1/10m -- ./script
! rlctl: run: cannot run './script': no such file or directory; the request was counted
!   hint: the interpreter that its #! line names may be missing
[126]

## a program is found as a shell finds it
$ write one/tool
$ write two/tool
< echo "$0 $*"
$ write here
< echo "$0 $*"
$ chmod 755 two/tool
$ chmod 755 here
$ env PATH=FOLDER/one:FOLDER/two:/usr/bin:/bin
$ rlctl run k --limit 9/10m --concurrency 1 -- tool a
FOLDER/two/tool a
$ rlctl run k --limit 9/10m --concurrency 1 -- ./two/tool b
./two/tool b
$ env PATH=:/usr/bin:/bin
$ rlctl run k --limit 9/10m --concurrency 1 -- here c
./here c

## every failure of rlctl is status 125, and --on-error chooses the answer
$ each OPTIONS --limit=1/10m --concurrency=1
$ redis SET text value
OK
$ rlctl run text OPTIONS -- echo ran
! rlctl: run: SERVER: 'text' holds a string, but [..] keeps a [..]
!   hint: rlctl inspect text shows what it holds
[125]
$ rlctl run text OPTIONS --on-error deny -- echo ran
! rlctl: run: warning: SERVER: 'text' holds a string, but [..]; taken as denied (--on-error)
!   hint: rlctl inspect text shows what it holds
[75]
$ env RLCTL_URL=unix:///nowhere
$ rlctl run k OPTIONS -- echo ran
! rlctl: cannot connect to unix:///nowhere: no such file or directory
[125]
$ rlctl run k OPTIONS --on-error deny -E 3 -- echo ran
! rlctl: run: warning: cannot connect to unix:///nowhere: no such file or directory; taken as denied (--on-error)
[3]
$ rlctl run k OPTIONS --on-error allow -- no-such-command-anywhere
! rlctl: run: cannot run 'no-such-command-anywhere': no such file or directory
[127]
$ keys
text string persistent value

## a denial tells since when a lease is held, in local time, and names other holders as they are
$ redis ZADD k 4102444800000000 lease:web1:4711:2026-07-02T23:30:04.512345Z 4102444800000001 lease:web1:4711:2026-01-02T03:17:00.000000Z 4102444800000002 lease:a:b:1:2026-01-02T03:17:00.000000Z 4102444800000003 lease:web1:4711:2026-01-02T03:17:00Z 4102444800000004 lease:web1:4711:2026-13-02T03:17:00.000000Z 4102444800000005 lease:2026-01-02T03:17:00.000000Z 4102444800000006 'lease:worker 7' -7 limit
8
$ env TZ=CET-1CEST,M3.5.0,M10.5.0/3
$ rlctl run k --concurrency 7 -- echo ran
! rlctl: run: denied: all 7 leases of 'k' are held by web1:4711 since 2026-07-03 01:30:04, web1:4711 since 2026-01-02 04:17:00, a:b:1 since 2026-01-02 04:17:00 and others
!   hint: rlctl inspect k shows what it holds
[75]
$ redis ZREMRANGEBYRANK k 1 3
3
$ rlctl run k --concurrency 4 -- echo ran
! rlctl: run: denied: all 4 leases of 'k' are held by web1:4711:2026-01-02T03:17:00Z, web1:4711:2026-13-02T03:17:00.000000Z, 2026-01-02T03:17:00.000000Z and others
!   hint: rlctl inspect k shows what it holds
[75]
$ redis ZREMRANGEBYRANK k 1 3
3
$ rlctl run k --concurrency 1 -- echo ran
! rlctl: run: denied: the lease of 'k' is held by worker 7
[75]
