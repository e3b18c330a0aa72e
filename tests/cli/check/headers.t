# needs: server
# --headers: the answer as HTTP header fields. keys.bats has a policy whose name has line ends.

## the policy, what remains, and when the limit is as if unused, rounded up; a denial has Retry-After
$ rlctl check --headers k --limit 1/60s --now 1000000000
RateLimit-Policy: "60s";q=1;w=60
RateLimit: "60s";r=0;t=60
$ rlctl check --headers k --limit 1/60s --now 1030500000
RateLimit-Policy: "60s";q=1;w=60
RateLimit: "60s";r=0;t=30
Retry-After: 30
[1]
$ rlctl check --headers k --limit 1/60s --now 1059999999
RateLimit-Policy: "60s";q=1;w=60
RateLimit: "60s";r=0;t=1
Retry-After: 1
[1]

## several limits are members of the lists, each with its own state; a window that is not in whole seconds is left out
$ rlctl check -q k --limit 3/10s,5/60s,9/1500ms --cost 3 --now 1000000000
$ rlctl check --headers k --limit 3/10s,5/60s,9/1500ms --now 1011000000
RateLimit-Policy: "10s";q=3;w=10, "60s";q=5;w=60, "1500ms";q=9
RateLimit: "10s";r=2;t=10, "60s";r=1;t=60, "1500ms";r=8;t=2
$ rlctl check --headers k --limit 3/10s,5/60s,9/1500ms --cost 2 --now 1011000000
RateLimit-Policy: "10s";q=3;w=10, "60s";q=5;w=60, "1500ms";q=9
RateLimit: "10s";r=2;t=10, "60s";r=1;t=49, "1500ms";r=8;t=2
Retry-After: 49
[1]

## a policy is named
$ write rlctl.toml
< [policy.login]
< key = "login:%s"
< limit = "5/60s"
$ rlctl check --headers --config rlctl.toml --policy login ann --now 1000000000
RateLimit-Policy: "login";q=5;w=60
RateLimit: "login";r=4;t=60

## a cost above the limit or a peek has no Retry-After, and an answer of --on-error only has the policy
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
