# needs: server
# `rlctl burst --replay FILE`: what is counted, suggested and warned of. tests/replay has how lines are read.

## several files, named by options and operands, are one traffic
$ write first.csv
< timestamp,key
< 1795155070,a
< 1795155071,a
< 1795155071,b
$ write second
< 1795155072 a
< 1795155081 a
$ write empty
$ rlctl burst second empty --replay first.csv --limit 2/10s sliding-window-log --model --json
{"pattern":"replay",[..],"replay":{"files":[{"name":"first.csv","format":"csv",[..],"requests":3,[..]},{"name":"second","format":"epoch",[..],"requests":2,[..]},{"name":"empty","format":null,[..],"requests":0,[..]}],[..],"runs":[{"algorithm":"sliding-window-log","sent":5,"allowed":4,"denied":1,"keys":2,"keys_denied":1,[..]}]}

## the command of a replay has what it was given, and repeats it
$ write -x.log
< 1795155070 a
$ write "it's.log"
< 1795155071 b
$ rlctl burst --replay=-x.log --replay "it's.log" --format epoch --strict --limit 2/10s gcra --model --suggest 30%keys --json
{[..]"command":"rlctl burst gcra --limit 2/10s --model --replay=-x.log --replay 'it'\\''s.log' --format epoch --strict --suggest 30%keys","interrupted"[..]}
$ rlctl burst gcra --limit 2/10s --model --replay=-x.log --replay 'it'\''s.log' --format epoch --strict --suggest 30%keys -q --assert sent==2
$ rlctl burst --replay - --limit 2/10s gcra --model --fields time=epoch,key=key --json
< 1795155070 a
{[..]"replay":{"files":[{"name":"-","format":"epoch","prefix":null,"lines":1,"requests":1,"bad":0,"blank":0,"other":0}][..]"command":"rlctl burst gcra --limit 2/10s --model --replay - --fields time=epoch,key=key","interrupted"[..]}

## costs are counted in units, and may be omitted
$ write cost.csv
< time,key,price
< 100,a,2
< 101,a,1
< 112,a,3
$ rlctl burst --replay cost.csv --limit 2/10s sliding-window-log --model -q --assert sent==3 --assert allowed==3
$ rlctl burst --replay cost.csv --limit 2/10s sliding-window-log --model --fields cost=price -q --assert sent==3 --assert allowed==1 --assert worst==1
$ rlctl burst --replay cost.csv --limit 2/10s sliding-window-log --model --fields cost=cent
! rlctl: burst: cost.csv:1: the header has no field 'cent': 'time,key,price'
!   hint: --fields cost=NAME says which of them it is
[2]
$ write dear.log
< 1 a 10001
$ rlctl burst --replay dear.log --limit 2/10s sliding-window-log
! rlctl: burst: --replay: cost 10001 is too large for sliding-window-log, which takes up to 10000; gcra takes more
!   hint: --fields cost= counts every request as 1
[2]
$ rlctl burst --replay dear.log --limit 2/10s sliding-window-log --model -q --fields cost= --assert allowed==1
$ rlctl burst --replay dear.log gcra --model -q
$ write cost.csv
< time,key,cost
< 100,a,2
< 101,a,1
< 112,a,0.3
$ rlctl burst --replay cost.csv --limit 2/10s sliding-window-log --model
! rlctl: burst: cost.csv:4: this is in none of the known formats; csv is nearest and reads 2 of 3 lines, but the cost '0.3' is not a whole number from 1 to 1000000000: '112,a,0.3'
!   hint: --format csv leaves out what it does not read
[2]
$ rlctl burst --replay cost.csv --limit 2/10s sliding-window-log --model -q --fields cost= --assert allowed==3

## fields are taken by their names, and those that are not there are named
$ write app.jsonl
< {"a":"1970-01-01T00:01:40Z","b":{"c":"x"},"d":3}
$ rlctl burst --replay app.jsonl --fields time=a,key=b.c,cost=d --model fixed-window --json
{[..]"worst":{"allowed":3,"ratio":0.003,"from_us":100000000,"span_us":0,"key":"x","limit":1000,"window_us":60000000}[..]}
$ rlctl burst --replay app.jsonl --model
! rlctl: burst: app.jsonl:1: this is in none of the known formats; jsonl is nearest, but it has no field for the key, but a, b.c, d: '{"a":"1970-01-01T00:01:40Z","b":{"c":"x"},"d":3}'
!   hint: --fields time=NAME,key=NAME names the fields
[2]
$ rlctl burst --replay app.jsonl --model --fields time=a,key=b
! rlctl: burst: app.jsonl:1: this is in none of the known formats; jsonl is nearest, but it has no field 'b', but a, b.c, d: '{"a":"1970-01-01T00:01:40Z","b":{"c":"x"},"d":3}'
!   hint: --fields time=NAME,key=NAME names the fields
[2]
$ rlctl burst --replay app.jsonl --model --fields time=a,key=b.c,cost=cents
! rlctl: burst: app.jsonl: no line has the field 'cents'
!   hint: --fields cost=NAME names the field that holds a request's cost; without it, each costs 1
[2]

## lines are counted, those that cannot be read too, of which the first is shown
$ write bad.log
< 1795155070 a
<
< # a comment
< hello
< 1795155074
$ rlctl burst --replay bad.log --format epoch --model gcra --json
{[..]"replay":{"files":[{"name":"bad.log","format":"epoch","prefix":null,"lines":5,"requests":1,"bad":2,"blank":1,"other":1}][..]"first_bad":{"file":"bad.log","line":4,"why":"it has no ' ' after epoch"}[..]"algorithm":"gcra","sent":1,"allowed":1,"denied":0,"keys":1,"keys_denied":0[..]}
! rlctl: burst: warning: 2 of 5 lines cannot be read; the first is bad.log:4: it has no ' ' after epoch: 'hello'

## a warning counts the requests whose key is absent
$ write access.log
< 192.0.2.1 - - [20/Nov/2026:06:11:10 +0000] "GET / HTTP/1.1" 200 5 "-" "x"
< 192.0.2.1 - ann [20/Nov/2026:06:11:11 +0000] "GET / HTTP/1.1" 200 5 "-" "x"
< 192.0.2.2 - - [20/Nov/2026:06:11:11 +0000] "GET / HTTP/1.1" 200 5 "-" "x"
$ rlctl burst --replay access.log --model -q --assert keys==2
$ rlctl burst --replay access.log --model -q --fields key=user --assert keys==2 --assert sent==3
! rlctl: burst: warning: 2 of 3 requests have the key '-', as logs write a value that is absent; they count as one client; --fields key=NAME takes another field

## a warning tells that every request has a key of its own, or that all have the same
$ write five.csv
< time,key,peer,id
< 1795155001,x,192.0.2.1,1
< 1795155002,x,192.0.2.1,2
< 1795155003,x,192.0.2.1,3
< 1795155004,x,192.0.2.1,4
< 1795155005,x,192.0.2.1,5
$ rlctl burst --replay five.csv --fields key=peer --model -q
! rlctl: burst: warning: all 5 requests have the same key, '192.0.2.1', such as that of a proxy; --fields key=NAME takes another field
$ rlctl burst --replay five.csv --fields key=id --model -q
! rlctl: burst: warning: each of the 5 requests has a key of its own, so that no limit denies any; --fields key=NAME takes another field
$ rlctl burst --replay five.csv --model -q --assert keys==1

## --format takes nginx's log_format and Apache's LogFormat, as they stand in the servers' files
$ write access.log
< 192.0.2.1 - - [20/Nov/2026:06:11:10 +0000] "GET / HTTP/1.1" 200 5 "-" "x" 0.004 "web"
$ rlctl burst --replay access.log
! rlctl: burst: access.log:1: this is in none of the known formats; combined is nearest, but it goes on after http_user_agent: '192.0.2.1 - - [20/Nov/2026:06:11:10 +0000] "GET / HTTP/1.1" 200 5 "-" "x" 0.004 "web"'
!   hint: --format takes nginx's log_format, such as '$remote_addr [$time_local] $any'; --fields time=NAME,key=NAME names fields, and cost= counts each request as 1; rlctl burst --formats lists the formats with a name
[2]
$ rlctl burst --replay access.log --model gcra --json --format '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time "$host"'
{[..]"replay":{"files":[{"name":"access.log","format":"$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\" $request_time \"$host\"","prefix":null,"lines":1,"requests":1,"bad":0,"blank":0,"other":0}][..]"algorithm":"gcra","sent":1,"allowed":1,"denied":0,"keys":1,"keys_denied":0[..]}
$ rlctl burst --replay access.log --model gcra --json --format '%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" %T \"%v\"'
{[..]"replay":{"files":[{"name":"access.log","format":"%h %l %u %t \\\"%r\\\" %>s %b \\\"%{Referer}i\\\" \\\"%{User-Agent}i\\\" %T \\\"%v\\\"","prefix":null,"lines":1,"requests":1,"bad":0,"blank":0,"other":0}][..]"algorithm":"gcra","sent":1,"allowed":1,"denied":0,"keys":1,"keys_denied":0[..]}
$ rlctl burst --replay access.log --model -q --format '$remote_addr $any $any [$time] $any' --assert sent==1
$ rlctl burst --replay access.log --format '$remote_adr [$time] $any'
! rlctl: burst: --format: no field for the key: the format has remote_adr, time, any
!   hint: --fields key=NAME names it
[2]

## a binary file is in no format
$ copy examples/debugging/lint.png
$ rlctl burst --replay lint.png
! rlctl: burst: lint.png:1: this is in none of the known formats: '\x89PNG\r'
!   hint: --format takes nginx's log_format, such as '$remote_addr [$time_local] $any'; --fields time=NAME,key=NAME names fields, and cost= counts each request as 1; rlctl burst --formats lists the formats with a name
[2]

## the decisions of one algorithm in a .jsonl can be replayed
$ rlctl burst poisson --limit 5/10s fixed-window gcra --model --rate 2/s --duration 60s --keys 3 -o out.jsonl --json
{[..]"algorithm":"fixed-window","sent":129,"allowed":82,"denied":47,"keys":3,"keys_denied":3[..]"algorithm":"gcra","sent":129,"allowed":98,"denied":31,"keys":3,"keys_denied":3[..]}
$ rlctl burst --replay out.jsonl --limit 5/10s fixed-window gcra --model --json
{[..]"replay":{"files":[{"name":"out.jsonl","format":"jsonl","prefix":null,"lines":258,"requests":129,"bad":0,"blank":0,"other":129}][..]"algorithm":"fixed-window","sent":129,"allowed":82,"denied":47,"keys":3,"keys_denied":3[..]"algorithm":"gcra","sent":129,"allowed":98,"denied":31,"keys":3,"keys_denied":3[..]}

## what is asserted of a log holds, also for a script, and on a server, where nothing is left
$ write some.log
< 1795155070 a
< 1795155071 a
< 1795155071 b
< 1795155072 a
< 1795155081 a
$ rlctl burst --replay some.log --limit 2/10s sliding-window-log --model -q --assert denied==1 --assert 'keys_denied<=1' --assert 'denied_share<=0.2'
$ rlctl burst --replay some.log --limit 2/10s sliding-window-log --model -q --assert denied==0 --assert 'denied_share<0.2'
! rlctl: burst: assertion 'denied==0' does not hold: sliding-window-log has 1
! rlctl: burst: assertion 'denied_share<0.2' does not hold: sliding-window-log has 0.2
[1]
$ write count.lua
< return redis.call('INCR', KEYS[1])
$ rlctl burst count.lua --replay some.log --args '{now}' --allowed-when '<=limit' --limit 2/10s -q --assert sent==5 --assert allowed==3 --assert keys==2 --assert keys_denied==1
$ rlctl burst --replay some.log -u SERVER --limit 2/10s gcra -q --assert sent==5 --assert 'bytes_per_key>0'
! rlctl: burst: writing under 'rlctl-burst:[..]:' on SERVER
$ keys

## with different costs, no smaller limit in the table would do
$ write costs.log
< 1795155060 k 3
< 1795155061 k 1
< 1795155061 k 1
< 1795155061 k 1
$ rlctl burst fixed-window --replay costs.log --limit 3/60s --suggest 50% --model --json
{[..]"suggestion":{"most":0.5,"of":"requests","limit":2,"window_us":60000000,"tried":[{"limit":1,"denied":3,"share":0.75,"keys_denied":1},{"limit":2,"denied":2,"share":0.5,"keys_denied":1},{"limit":3,"denied":3,"share":0.75,"keys_denied":1},{"limit":4,"denied":2,"share":0.5,"keys_denied":1}]}[..]}

## --ipv6-prefix counts the addresses of a network as one client
$ write addresses.log
< 1795155070 2001:db8::1
< 1795155071 2001:DB8::2
< 1795155072 [2001:db8::3]:443
< 1795155073 ::ffff:192.0.2.1
< 1795155074 192.0.2.1
< 1795155075 ann
$ rlctl burst --replay addresses.log --limit 2/10s sliding-window-log --model --ipv6-prefix 64 --suggest 0% --json
{"pattern":"replay",[..],"command":"rlctl burst sliding-window-log --limit 2/10s --model --replay addresses.log --ipv6-prefix 64 --suggest 0%",[..],"runs":[{"algorithm":"sliding-window-log","sent":6,"allowed":5,"denied":1,"keys":3,"keys_denied":1,[..],"top_denied":[{"key":"2001:db8::/64","denied":1}],[..],"suggestion":{"most":0,"of":"requests","limit":3,[..]},[..]}]}
$ rlctl burst --replay addresses.log --limit 2/10s sliding-window-log --model --suggest 0% --json
{[..]"algorithm":"sliding-window-log","sent":6,"allowed":6,"denied":0,"keys":6,"keys_denied":0[..]"suggestion":{"most":0,"of":"requests","limit":1,"window_us":10000000,"tried":[{"limit":1,"denied":0,"share":0,"keys_denied":0}[..]}
