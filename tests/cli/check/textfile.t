# needs: server
# --textfile and --top-denied: what a batch counts.

## the file has the answers of the batch
$ rlctl check -q --batch --textfile check.prom --limit 2/60s --now 1000000000
< a
< a
< a
< b
< a	x
< a
! rlctl: check: line 5: cost must be a whole number in decimal digits, not 'x'
[2]
$ cat check.prom
# HELP rlctl_check_requests_total Requests of a batch, by answer.
# TYPE rlctl_check_requests_total counter
rlctl_check_requests_total{file="check.prom",result="allowed"} 3
rlctl_check_requests_total{file="check.prom",result="denied"} 2
rlctl_check_requests_total{file="check.prom",result="error"} 1

## with --top-denied the file has the keys that were denied most
$ rlctl check -q --batch --textfile check.prom --top-denied 2 --limit 1/60s --now 1000000000
< a
< b
< b
< c
< c
< c
< d "\
< d "\
< d "\
< d "\
[1]
$ cat check.prom
# HELP rlctl_check_requests_total Requests of a batch, by answer.
# TYPE rlctl_check_requests_total counter
rlctl_check_requests_total{file="check.prom",result="allowed"} 4
rlctl_check_requests_total{file="check.prom",result="denied"} 6
rlctl_check_requests_total{file="check.prom",result="error"} 0
# HELP rlctl_check_top_denied_total Denied requests of the keys that were denied most.
# TYPE rlctl_check_top_denied_total counter
rlctl_check_top_denied_total{file="check.prom",key="d \"\\\\"} 3
rlctl_check_top_denied_total{file="check.prom",key="c"} 2
# HELP rlctl_check_top_denied_error How much too high a count of rlctl_check_top_denied_total may be, at most.
# TYPE rlctl_check_top_denied_error gauge
rlctl_check_top_denied_error{file="check.prom"} 0

## a policy is a label, and denials of --shadow have a name of their own
$ write rlctl.toml
< [policy.login]
< key = "login:%s"
< limit = "1/60s"
$ rlctl check -q --config rlctl.toml --policy login --shadow --batch --textfile check.prom --top-denied 5
< ann
< ann
< bob
! rlctl: check: 1 of 3 requests would have been denied (--shadow)
$ cat check.prom
# HELP rlctl_check_requests_total Requests of a batch, by answer.
# TYPE rlctl_check_requests_total counter
rlctl_check_requests_total{file="check.prom",policy="login",result="allowed"} 2
rlctl_check_requests_total{file="check.prom",policy="login",result="denied"} 0
rlctl_check_requests_total{file="check.prom",policy="login",result="error"} 0
rlctl_check_requests_total{file="check.prom",policy="login",result="would_deny"} 1
# HELP rlctl_check_top_denied_total Denied requests of the keys that were denied most.
# TYPE rlctl_check_top_denied_total counter
rlctl_check_top_denied_total{file="check.prom",policy="login",key="login:ann"} 1
# HELP rlctl_check_top_denied_error How much too high a count of rlctl_check_top_denied_total may be, at most.
# TYPE rlctl_check_top_denied_error gauge
rlctl_check_top_denied_error{file="check.prom",policy="login"} 0

## an answer of --on-error counts as an error
$ rlctl check -q --batch --textfile check.prom --limit 2/60s --on-error deny -u unix:///nowhere
< a
< b
! rlctl: check: warning: line 1: cannot connect to unix:///nowhere: no such file or directory; taken as denied (--on-error)
! rlctl: check: the same error on 1 more line (2)
[1]
$ cat check.prom
# HELP rlctl_check_requests_total Requests of a batch, by answer.
# TYPE rlctl_check_requests_total counter
rlctl_check_requests_total{file="check.prom",result="allowed"} 0
rlctl_check_requests_total{file="check.prom",result="denied"} 0
rlctl_check_requests_total{file="check.prom",result="error"} 2

## --top-denied without --textfile prints the keys at the end
$ rlctl check -q --batch --top-denied 2 --limit 1/60s
< a
< a
< a
< long key
< long key
< c
! rlctl: check: 3 requests denied, most often those of:
!   a            2
!   long\x20key  1
[1]
$ rlctl check -q --batch --top-denied 2 --limit 1/60s --shadow
< c
! rlctl: check: 1 of 1 request would have been denied (--shadow)
! rlctl: check: 1 request would have been denied, most often those of:
!   c  1
$ rlctl check -q --batch --top-denied 2 --limit 1/60s
< d
! rlctl: check: 0 requests denied
