# needs: server
# What a key may be. keys.bats has bytes that are not text.

## a key is stored as it is, and printed so that it cannot end the line
$ rlctl check --batch --limit 5/60s --now 1000000000
< login:{ann}
<  a b  c
< a	b	1
< a\nb\x20
< 日本é€😀
< "'`$(x)*?[a]=;&
< -5
allowed key=login:{ann} limit=5/60s remaining=4 reset=60.000s
allowed key=\x20a\x20b\x20\x20c limit=5/60s remaining=4 reset=60.000s
allowed key=a\tb limit=5/60s remaining=4 reset=60.000s
allowed key=a\\nb\\x20 limit=5/60s remaining=4 reset=60.000s
allowed key=日本é€😀 limit=5/60s remaining=4 reset=60.000s
allowed key="'`$(x)*?[a]=;& limit=5/60s remaining=4 reset=60.000s
allowed key=-5 limit=5/60s remaining=4 reset=60.000s
$ rlctl check --limit 5/60s --now 1000000000 -- -5
allowed key=-5 limit=5/60s remaining=3 reset=60.000s
$ rlctl check --limit 5/60s --now 1000000000 -- --limit
allowed key=--limit limit=5/60s remaining=4 reset=60.000s
$ rlctl check --limit 5/60s --now 1000000000 -- --
allowed key=-- limit=5/60s remaining=4 reset=60.000s
$ keys
 a b  c list expires 1000000000
"'`$(x)*?[a]=;& list expires 1000000000
-- list expires 1000000000
--limit list expires 1000000000
-5 list expires 1000000000 1000000000
a␉b list expires 1000000000
a\nb\x20 list expires 1000000000
login:{ann} list expires 1000000000
日本é€😀 list expires 1000000000

## several limits have several keys in one slot, and keep a hash tag of the key
$ rlctl check login:ann --limit 5/s,9/1m,99/1500ms,99/1007us --now 5
allowed key=login:ann limit=5/1s,9/60s,99/1500ms,99/1007us remaining=4 reset=60.000s
$ rlctl check login:{ann}:x --limit 5/s,9/h --now 5
allowed key=login:{ann}:x limit=5/1s,9/1h remaining=4 reset=3600.000s
$ keys
login:{ann}:x:1s list expires 5
login:{ann}:x:3600s list expires 5
{login:ann}:1007us list expires 5
{login:ann}:1500ms list expires 5
{login:ann}:1s list expires 5
{login:ann}:60s list expires 5
