# needs: server
# The input and output of a batch. batch.bats has many and long lines, batch_connection.bats its connection.

## a line is a key and, after its last tab, a cost other than that of --cost; # begins a comment only at the start of a line
$ rlctl check --batch --refunds --cost 4 --limit 5/60s --now 1000000000
< # a comment
< c
< a	3
< b	0
< a	-2
<
< c	d	2
< a#b
<  #c
allowed key=c limit=5/60s remaining=1 reset=60.000s
allowed key=a limit=5/60s remaining=2 reset=60.000s
allowed key=b limit=5/60s remaining=5 reset=0.000s
allowed key=a limit=5/60s remaining=4 reset=60.000s
allowed key=c\td limit=5/60s remaining=3 reset=60.000s
allowed key=a#b limit=5/60s remaining=1 reset=60.000s
allowed key=\x20#c limit=5/60s remaining=1 reset=60.000s

## a bad line has an error in its place and the rest is answered, even if the server has lost the script
$ redis SCRIPT FLUSH
OK
$ rlctl check --batch --limit 5/60s --now 1000000000
< # a comment
<
< a	5
< a
< b	x
< 	1
< e	10001
< eve	-2
< g
allowed key=a limit=5/60s remaining=0 reset=60.000s
denied key=a limit=5/60s remaining=0 retry_after=60.000s reset=60.000s
error line=5 status=2 message="cost must be a whole number in decimal digits, not 'x'"
error line=6 status=2 message="the key is empty"
error line=7 status=2 message="cost 10001 is too large for sliding-window-log, which takes up to 10000; gcra takes more"
error line=8 status=2 message="cost -2 is below 0, which requires --refunds"
allowed key=g limit=5/60s remaining=4 reset=60.000s
! rlctl: check: line 5: cost must be a whole number in decimal digits, not 'x'
! rlctl: check: line 6: the key is empty
! rlctl: check: line 7: cost 10001 is too large for sliding-window-log, which takes up to 10000; gcra takes more
! rlctl: check: line 8: cost -2 is below 0, which requires --refunds
[2]

## stderr names three of the lines that fail alike, and --quiet prints nothing else
$ rlctl check --batch -q --limit 5/60s --now 1000000000
< a	x
< a	x
< a	x
< a	x
< a
< a	x
! rlctl: check: line 1: cost must be a whole number in decimal digits, not 'x'
! rlctl: check: line 2: cost must be a whole number in decimal digits, not 'x'
! rlctl: check: line 3: cost must be a whole number in decimal digits, not 'x'
! rlctl: check: the same error on 1 more line (4)
! rlctl: check: line 6: cost must be a whole number in decimal digits, not 'x'
[2]
$ redis LLEN a
1

## a line that the server rejects has an error, which is the status; with --json, stderr has it only with --quiet
$ redis SET k text
OK
$ rlctl check --batch --limit 5/60s --now 1000000000
< k
< b	x
< a
error line=1 status=5 message="SERVER: 'k' holds a string, but sliding-window-log keeps a list"
error line=2 status=2 message="cost must be a whole number in decimal digits, not 'x'"
allowed key=a limit=5/60s remaining=4 reset=60.000s
! rlctl: check: line 1: SERVER: 'k' holds a string, but sliding-window-log keeps a list
!   hint: rlctl inspect k shows what it holds
! rlctl: check: line 2: cost must be a whole number in decimal digits, not 'x'
[5]
$ rlctl check --batch --json --limit 5/60s --now 1000000000
< k
< b	x
< 日本
{"line":1,"error":{"code":"WRONGTYPE","message":"SERVER: 'k' holds a string, but sliding-window-log keeps a list","hint":"rlctl inspect k shows what it holds"}}
{"line":2,"error":{"code":"usage","message":"cost must be a whole number in decimal digits, not 'x'","hint":null}}
{"key":"日本","algorithm":"sliding-window-log","allowed":true,"cost":1,"remaining":4,"retry_after_us":0,"reset_after_us":60000000,"delay_us":0,"limits":[{"key":"日本","limit":5,"window_us":60000000,"burst":null}],"denied_by":null}
[5]
$ rlctl check --batch --json -q --limit 5/60s
< k
< k
< b	x
! {"error":{"code":"WRONGTYPE","message":"line 1: SERVER: 'k' holds a string, but sliding-window-log keeps a list","hint":"rlctl inspect k shows what it holds"}}
! {"error":{"code":"WRONGTYPE","message":"line 2: SERVER: 'k' holds a string, but sliding-window-log keeps a list","hint":"rlctl inspect k shows what it holds"}}
! {"error":{"code":"usage","message":"line 3: cost must be a whole number in decimal digits, not 'x'","hint":null}}
[5]
$ redis GET k
text

## without a server, each line is an error, or the answer of --on-error; an empty batch needs none
$ rlctl check --batch -u unix:///nowhere --limit 5/60s
< a
< b
error line=1 status=3 message="cannot connect to unix:///nowhere: no such file or directory"
error line=2 status=3 message="cannot connect to unix:///nowhere: no such file or directory"
! rlctl: check: line 1: cannot connect to unix:///nowhere: no such file or directory
! rlctl: check: the same error on 1 more line (2)
[3]
$ rlctl check --batch -u unix:///nowhere --limit 5/60s --json --on-error allow
< k
{"key":"k","algorithm":"sliding-window-log","allowed":true,"cost":1,"remaining":null,"retry_after_us":null,"reset_after_us":null,"delay_us":null,"limits":[{"key":"k","limit":5,"window_us":60000000,"burst":null}],"denied_by":null,"error":{"code":"unreachable","message":"cannot connect to unix:///nowhere: no such file or directory","hint":null}}
$ rlctl check --batch -u unix:///nowhere --limit 5/60s
< # nothing

## several limits, --peek and --now apply to every line; a peek refuses a refund, and the other spelling of an earlier key is an error
$ rlctl check --batch --limit 2/s --limit 3/60s --now 1000000000
< k
< k
< k
< {k}
allowed key=k limit=2/1s,3/60s remaining=1 reset=60.000s
allowed key=k limit=2/1s,3/60s remaining=0 reset=60.000s
denied key=k limit=2/1s,3/60s remaining=0 retry_after=1.000s reset=60.000s denied_by={k}:1s
error line=4 status=2 message="key '{k}' uses the same Redis key '{k}:1s' as 'k' on an earlier line"
! rlctl: check: line 4: key '{k}' uses the same Redis key '{k}:1s' as 'k' on an earlier line
[2]
$ redis SCRIPT FLUSH
OK
$ rlctl check --batch --limit 2/s --limit 3/60s --now 1000000000 --peek
< k
< other
< k	-1
denied key=k limit=2/1s,3/60s remaining=0 reset=60.000s denied_by={k}:1s
allowed key=other limit=2/1s,3/60s remaining=2 reset=0.000s
error line=3 status=2 message="cost -1 is below 0, and --peek takes nothing"
! rlctl: check: line 3: cost -1 is below 0, and --peek takes nothing
[2]
$ keys
{k}:1s list expires 1000000000 1000000000
{k}:60s list expires 1000000000 1000000000

## the lines come from the file that follows --batch, or from standard input if it is -
$ write lines
< k
$ rlctl check --batch lines --limit 5/60s --now 1000000000
allowed key=k limit=5/60s remaining=4 reset=60.000s
$ rlctl check --batch=lines --limit 5/60s --now 1000000000
allowed key=k limit=5/60s remaining=3 reset=60.000s
$ rlctl check --limit 5/60s --now 1000000000 --batch -
< k
allowed key=k limit=5/60s remaining=2 reset=60.000s
$ rlctl check login:ann --batch --limit 5/60s
! rlctl: check: cannot open 'login:ann': no such file or directory
!   hint: --batch reads keys from a file or standard input
[2]
