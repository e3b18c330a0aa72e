# needs: server
# What a key may be. keys.bats has bytes that are not text; tests/limiter/limit_test.cc has the names of several limits.

## a key is stored as it is, and printed so that it cannot end the line
$ rlctl check --batch --limit 5/60s --now 1000000000
< login:{ann}
<  a b  c
< a	b	1
< a\nb\x20
< 日本é€😀
< "'`$(x)*?[a]=;&
allowed key=login:{ann} limit=5/60s remaining=4 reset=60.000s
allowed key=\x20a\x20b\x20\x20c limit=5/60s remaining=4 reset=60.000s
allowed key=a\tb limit=5/60s remaining=4 reset=60.000s
allowed key=a\\nb\\x20 limit=5/60s remaining=4 reset=60.000s
allowed key=日本é€😀 limit=5/60s remaining=4 reset=60.000s
allowed key="'`$(x)*?[a]=;& limit=5/60s remaining=4 reset=60.000s
$ rlctl check --limit 5/60s --now 1000000000 -- --limit
allowed key=--limit limit=5/60s remaining=4 reset=60.000s
$ rlctl check --limit 5/60s --now 1000000000 -- -5
allowed key=-5 limit=5/60s remaining=4 reset=60.000s
$ keys
 a b  c list expires 1000000000
"'`$(x)*?[a]=;& list expires 1000000000
--limit list expires 1000000000
-5 list expires 1000000000
a␉b list expires 1000000000
a\nb\x20 list expires 1000000000
login:{ann} list expires 1000000000
日本é€😀 list expires 1000000000
