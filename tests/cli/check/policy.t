# needs: server

## a policy has the key, the algorithm, the limits and the burst
$ write rlctl.toml
< timeout = "120s"
< policy.login = { key = "login:%s", limit = "5/60s" }
< policy.upload = { key = "upload:%s:%s", algorithm = "gcra", limit = ["10/s", "100/min"], burst = 20 }
< policy.backup = { key = "backup", limit = "1/h" }
$ env RLCTL_CONFIG=FOLDER/rlctl.toml
$ rlctl check --policy backup --wait=1s
allowed key=backup limit=1/1h remaining=0 reset=3600.000s
$ rlctl check --policy login alice --now 1800000000000000 --cost 2
allowed key=login:alice limit=5/60s remaining=3 reset=60.000s
$ rlctl check --policy login alice --now 1800000000000000 --cost 4 --peek
denied key=login:alice limit=5/60s remaining=3 reset=60.000s
[1]
$ rlctl check --policy login --now 1800000000000000 -- '-%s {x}:	ü'
allowed key=login:-%s\x20{x}:\tü limit=5/60s remaining=4 reset=60.000s
$ rlctl check --policy login --now 1800000000000000 --batch
< ann
< 	1
< bob	5
< bob
allowed key=login:ann limit=5/60s remaining=4 reset=60.000s
error line=2 status=2 message="the key is empty"
allowed key=login:bob limit=5/60s remaining=0 reset=60.000s
denied key=login:bob limit=5/60s remaining=0 retry_after=60.000s reset=60.000s
! rlctl: check: line 2: the key is empty
[2]
$ keys
backup list expires [..]
login:-%s {x}:␉ü list expires 1800000000000000
login:alice list expires 1800000000000000 1800000000000000
login:ann list expires 1800000000000000
login:bob list expires 1800000000000000 1800000000000000 1800000000000000 1800000000000000 1800000000000000
$ rlctl check --policy upload acme images --cost 3 --now 1800000000000000 --json
{"key":"upload:acme:images","algorithm":"gcra","allowed":true,"cost":3,"remaining":17,"retry_after_us":0,"reset_after_us":1800000,"delay_us":0,"limits":[{"key":"{upload:acme:images}:1s","limit":10,"window_us":1000000,"burst":20},{"key":"{upload:acme:images}:60s","limit":100,"window_us":60000000,"burst":20}],"denied_by":null}
$ redis EXISTS {upload:acme:images}:1s {upload:acme:images}:60s
2

## with ipv6_prefix, the addresses of a network are one client; without it, or as a KEY, they stay as they are
$ write rlctl.toml
< timeout = "120s"
< policy.client = { key = "client:%s", limit = ["5/60s", "9/1h"], ipv6_prefix = 64 }
< policy.login = { key = "login:%s", limit = "5/60s" }
$ env RLCTL_CONFIG=FOLDER/rlctl.toml
$ rlctl check --policy client 2001:db8:1:2::1 --now 1800000000000000
allowed key=client:2001:db8:1:2::/64 limit=5/60s,9/1h remaining=4 reset=3600.000s
$ rlctl check --policy client --now 1800000000000000 --batch
< [2001:DB8:1:2:FFFF::]:443
< ::ffff:192.0.2.1
< 2001:db8:1:3::1
allowed key=client:2001:db8:1:2::/64 limit=5/60s,9/1h remaining=3 reset=3600.000s
allowed key=client:192.0.2.1 limit=5/60s,9/1h remaining=4 reset=3600.000s
allowed key=client:2001:db8:1:3::/64 limit=5/60s,9/1h remaining=4 reset=3600.000s
$ rlctl inspect --policy client 2001:db8:1:2::9 --now 1800000000000000 --json
{"key":"{client:2001:db8:1:2::/64}:60s",[..]"used":2,[..]
{"key":"{client:2001:db8:1:2::/64}:3600s",[..]"used":2,[..]
$ rlctl reset --policy client 2001:db8:1:2::9
removed key={client:2001:db8:1:2::/64}:60s algorithm=sliding-window-log
removed key={client:2001:db8:1:2::/64}:3600s algorithm=sliding-window-log
! not saved: --save FILE keeps what is removed, and --restore puts it back
! removed 2 keys (2 sliding-window-log)
$ rlctl check -q 2001:DB8::1 --limit 5/60s --now 1800000000000000
$ rlctl check -q --policy login 2001:DB8::1 --now 1800000000000000
$ keys
2001:DB8::1 list expires 1800000000000000
login:2001:DB8::1 list expires 1800000000000000
{client:192.0.2.1}:3600s list expires 1800000000000000
{client:192.0.2.1}:60s list expires 1800000000000000
{client:2001:db8:1:3::/64}:3600s list expires 1800000000000000
{client:2001:db8:1:3::/64}:60s list expires 1800000000000000
