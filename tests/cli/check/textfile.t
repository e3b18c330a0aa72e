# needs: server
# --textfile: what a batch counts.

## the file has the answers of the batch
$ rlctl check -q --batch --textfile check.prom --limit 1/60s
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

## a policy is a label, and denials of --shadow have a name of their own
$ write rlctl.toml
< [policy.login]
< key = "login:%s"
< limit = "1/60s"
$ rlctl check -q --config rlctl.toml --policy login --shadow --batch --textfile check.prom
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
