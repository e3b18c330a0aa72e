# needs: server

## with --shadow, what the limit allows is recorded, and a denial is not, but is reported with status 0
$ rlctl check -q k --limit 2/60s --now 1000000000 --shadow
$ rlctl check k --limit 2/60s --now 1000000000 --shadow --json
{"key":"k","algorithm":"sliding-window-log","allowed":true,"cost":1,"remaining":0,"retry_after_us":0,"reset_after_us":60000000,"delay_us":0,"limits":[{"key":"k","limit":2,"window_us":60000000,"burst":null}],"denied_by":null,"would_deny":false}
$ rlctl check k --limit 2/60s --now 1000000000 --shadow --json
{"key":"k","algorithm":"sliding-window-log","allowed":true,"cost":1,"remaining":0,"retry_after_us":60000000,"reset_after_us":60000000,"delay_us":0,"limits":[{"key":"k","limit":2,"window_us":60000000,"burst":null}],"denied_by":"k","would_deny":true}
$ rlctl check k --limit 2/60s --now 1000000000 --shadow --cost 3 --peek
allowed key=k limit=2/60s would_deny=true remaining=0 retry_after=never reset=60.000s
$ keys
k list expires 1000000000 1000000000
$ rlctl check r --limit 2/60s --now 1000000000 --shadow --reserve 3 --hold 30s --id a
allowed key=r limit=2/60s algorithm=budget reservation=a state=unknown units=3 hold=30.000s would_deny=true remaining=2 retry_after=never reset=0.000s

## a batch says how many requests would have been denied
$ rlctl check --batch --limit 2/60s --now 1000000000 --shadow
< a
< a
< a
< a
allowed key=a limit=2/60s remaining=1 reset=60.000s
allowed key=a limit=2/60s remaining=0 reset=60.000s
allowed key=a limit=2/60s would_deny=true remaining=0 retry_after=60.000s reset=60.000s
allowed key=a limit=2/60s would_deny=true remaining=0 retry_after=60.000s reset=60.000s
! rlctl: check: 2 of 4 requests would have been denied (--shadow)
$ rlctl check --batch --limit 2/60s --now 1000000000 --shadow -q
< c	x
< c
! rlctl: check: line 1: cost must be a whole number in decimal digits, not 'x'
! rlctl: check: 0 of 1 request would have been denied (--shadow); no decision for 1 line
[2]

## a failure of the server keeps its status, unless --on-error gives an answer
$ rlctl check --batch --limit 2/60s --shadow -u unix:///nowhere
< a
< b
error line=1 status=3 message="cannot connect to unix:///nowhere: no such file or directory"
error line=2 status=3 message="cannot connect to unix:///nowhere: no such file or directory"
! rlctl: check: line 1: cannot connect to unix:///nowhere: no such file or directory
! rlctl: check: the same error on 1 more line (2)
! rlctl: check: 0 of 0 requests would have been denied (--shadow); no decision for 2 lines
[3]
$ rlctl check k --limit 2/60s --shadow -u unix:///nowhere
! rlctl: cannot connect to unix:///nowhere: no such file or directory
[3]
$ rlctl check k --limit 2/60s --shadow -u unix:///nowhere --on-error allow
allowed key=k limit=2/60s on_error=allow
! rlctl: check: warning: cannot connect to unix:///nowhere: no such file or directory; taken as allowed (--on-error)
$ rlctl check k --limit 2/60s --shadow -u unix:///nowhere --on-error deny
allowed key=k limit=2/60s would_deny=true on_error=deny
! rlctl: check: warning: cannot connect to unix:///nowhere: no such file or directory; taken as denied (--on-error)
