# needs: server
# --headers: the answer as HTTP header fields. keys.bats has a policy whose name has line ends.

## the policy, what remains, and when the limit is as if unused; a denial has Retry-After
$ rlctl check --headers k --limit 2/60s --now 1000000000
RateLimit-Policy: "60s";q=2;w=60
RateLimit: "60s";r=1;t=60
$ rlctl check --headers k --limit 2/60s --now 1020000000
RateLimit-Policy: "60s";q=2;w=60
RateLimit: "60s";r=0;t=60
$ rlctl check --headers k --limit 2/60s --now 1030500000
RateLimit-Policy: "60s";q=2;w=60
RateLimit: "60s";r=0;t=30
Retry-After: 30
[1]

## times are rounded up, and Retry-After is at least 1
$ rlctl check -q k --limit 1/1s --now 1000000000
$ rlctl check --headers k --limit 1/1s --now 1000999999
RateLimit-Policy: "1s";q=1;w=1
RateLimit: "1s";r=0;t=1
Retry-After: 1
[1]

## several limits are members of the lists, each with its own state
$ rlctl check -q k --limit 3/10s,5/60s --cost 3 --now 1000000000
$ rlctl check --headers k --limit 3/10s,5/60s --now 1011000000
RateLimit-Policy: "10s";q=3;w=10, "60s";q=5;w=60
RateLimit: "10s";r=2;t=10, "60s";r=1;t=60
$ rlctl check --headers k --limit 3/10s,5/60s --cost 2 --now 1011000000
RateLimit-Policy: "10s";q=3;w=10, "60s";q=5;w=60
RateLimit: "10s";r=2;t=10, "60s";r=1;t=49
Retry-After: 49
[1]

## a window that is not in whole seconds is left out
$ rlctl check --headers k --limit 5/1500ms,20/1m --now 1000000000
RateLimit-Policy: "1500ms";q=5, "60s";q=20;w=60
RateLimit: "1500ms";r=4;t=2, "60s";r=19;t=60

## a policy is named
$ write rlctl.toml
< [policy.login]
< key = "login:%s"
< limit = "5/60s"
$ rlctl check --headers --config rlctl.toml --policy login ann --now 1000000000
RateLimit-Policy: "login";q=5;w=60
RateLimit: "login";r=4;t=60

## a peek or a cost above the limit has no Retry-After, and an answer of --on-error only has the policy
$ rlctl check --headers k --limit 5/60s --cost 6 --now 1000000000
RateLimit-Policy: "60s";q=5;w=60
RateLimit: "60s";r=5;t=0
[1]
$ rlctl check -q k --limit 5/60s --cost 5 --now 1000000000
$ rlctl check --headers k --limit 5/60s --peek --now 1010000000
RateLimit-Policy: "60s";q=5;w=60
RateLimit: "60s";r=0;t=50
[1]
$ rlctl check --headers k --limit 5/60s -u unix:///nowhere --on-error deny
RateLimit-Policy: "60s";q=5;w=60
! rlctl: check: warning: cannot connect to unix:///nowhere: no such file or directory; taken as denied (--on-error)
[1]
$ rlctl check --headers k --limit 5/60s -u unix:///nowhere
! rlctl: cannot connect to unix:///nowhere: no such file or directory
[3]
