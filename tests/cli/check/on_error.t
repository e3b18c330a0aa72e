# needs: server
# What --on-error does about an unreachable server, a refused user and a rejected request: statuses 3, 4 and 5.

## an answer in place of the server's has a warning, even with --quiet
$ each ARGS 'k --user nobody' 'bucket --user default'
$ rlctl check -q bucket --limit 5/60s --algorithm gcra
$ env REDISCLI_AUTH=wrong
$ rlctl check ARGS --limit 5/60s --on-error allow
allowed key=[..] limit=5/60s on_error=allow
! rlctl: check: warning: [..]; taken as allowed (--on-error)
!   hint: [..]
$ rlctl check k -u unix:///nowhere --limit 5/60s --on-error allow -q
! rlctl: check: warning: cannot connect to unix:///nowhere: no such file or directory; taken as allowed (--on-error)

## JSON has the error with its hint, beside what is not known; fail is the default
$ redis SET text hello
OK
$ rlctl check text --limit 5/60s --on-error=fail
! rlctl: check: SERVER: 'text' holds a string, but sliding-window-log keeps a list
!   hint: rlctl inspect text shows what it holds
[5]
$ rlctl check text --limit 5/60s --on-error deny --json --reserve 3 --hold 30s --id a
{"key":"text","algorithm":"budget","allowed":false,"cost":3,"remaining":null,"retry_after_us":null,"reset_after_us":null,"delay_us":null,[..],"denied_by":null,"reservation":{"id":"a","state":"unknown",[..]},"error":{"code":"WRONGTYPE","message":"SERVER: 'text' holds a string, but budget keeps a hash","hint":"rlctl inspect text shows what it holds"}}
! rlctl: check: warning: SERVER: 'text' holds a string, but budget keeps a hash; taken as denied (--on-error)
!   hint: rlctl inspect text shows what it holds
[1]

## what the server decides does not change
$ rlctl check k --limit 1/60s --on-error deny --now 1000000000
allowed key=k limit=1/60s remaining=0 reset=60.000s
$ rlctl check k --limit 1/60s --on-error allow --now 1000000000
denied key=k limit=1/60s remaining=0 retry_after=60.000s reset=60.000s
[1]

## in a batch each line gets the answer, and a bad line is still an error
$ rlctl check --batch --limit 5/60s --on-error deny -q -u unix:///nowhere
< a
! rlctl: check: warning: line 1: cannot connect to unix:///nowhere: no such file or directory; taken as denied (--on-error)
[1]
$ rlctl check --batch --limit 5/60s --on-error deny -u unix:///nowhere
< a
< b	x
< c
denied key=a limit=5/60s on_error=deny
error line=2 status=2 message="cost must be a whole number in decimal digits, not 'x'"
denied key=c limit=5/60s on_error=deny
! rlctl: check: warning: line 1: cannot connect to unix:///nowhere: no such file or directory; taken as denied (--on-error)
! rlctl: check: line 2: cost must be a whole number in decimal digits, not 'x'
! rlctl: check: warning: line 3: cannot connect to unix:///nowhere: no such file or directory; taken as denied (--on-error)
[2]
