# needs: server
# --textfile and --top-denied: what a batch counts.

## the file has the answers of the batch and, with --top-denied, the keys that were denied most
$ rlctl check -q --batch --textfile check.prom --top-denied 2 --limit 1/60s
< a
< b	2
< c	2
< c	2
< d "\	2
< d "\	2
< d "\	2
< e	x
! rlctl: check: line 8: cost must be a whole number in decimal digits, not 'x'
[2]
$ cat check.prom
# HELP rlctl_check_requests_total Requests of a batch, by answer.
# TYPE rlctl_check_requests_total counter
rlctl_check_requests_total{file="check.prom",result="allowed"} 1
rlctl_check_requests_total{file="check.prom",result="denied"} 6
rlctl_check_requests_total{file="check.prom",result="error"} 1
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
! rlctl: check: warning: line 1: cannot connect to unix:///nowhere: no such file or directory; taken as denied (--on-error)
[1]
$ cat check.prom
# HELP rlctl_check_requests_total Requests of a batch, by answer.
# TYPE rlctl_check_requests_total counter
rlctl_check_requests_total{file="check.prom",result="allowed"} 0
rlctl_check_requests_total{file="check.prom",result="denied"} 0
rlctl_check_requests_total{file="check.prom",result="error"} 1

## --top-denied without --textfile prints the keys at the end
$ rlctl check -q --batch --top-denied 2 --limit 1/60s
< a	2
< a	2
< long key	2
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
