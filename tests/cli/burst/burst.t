# needs: server
# What `rlctl burst` writes besides its reports, which are in reports.t, and what --compare finds. With a seed, as without
# one, rlctl decides itself.

## the report has the command that repeats it, with its options
$ rlctl burst poisson gcra --limit 10/s --limit 100/min --burst 7 --rate 90/s --duration 3s --requests 3 --keys 3 --cost 2 --seed 9 --model --json
{"pattern":"poisson",[..],"command":"rlctl burst poisson gcra --limit 10/1s --limit 100/60s --burst 7 --model --rate 90/s --duration 3s --requests 3 --keys 3 --cost 2 --seed 9",[..]}

## the models, the scripts here and those on a server decide alike, and another seed makes other traffic
$ each WHERE --model --seed=1 '-u private:'
$ rlctl burst poisson all --limit 30/s --limit 90/4s --keys 3 --cost 2 -q WHERE --assert 'allowed<1' --assert 'worst<0.1'
! rlctl: burst: assertion 'allowed<1' does not hold: fixed-window has 133, sliding-window-log has 120, sliding-window-zset has 120, sliding-window-counter has 119, token-bucket has 146, gcra has 146, leaky-bucket has 146, budget has 133
! rlctl: burst: assertion 'worst<0.1' does not hold: fixed-window has 1.33, sliding-window-log has 1, sliding-window-zset has 1, sliding-window-counter has 1.13, token-bucket has 1.6, gcra has 1.6, leaky-bucket has 1, budget has 1.33
[1]
$ rlctl burst poisson all --limit 30/s --limit 90/4s --keys 3 --cost 2 -q --seed=2 --model --assert 'allowed<1'
! rlctl: burst: assertion 'allowed<1' does not hold: fixed-window has 125, sliding-window-log has 118, sliding-window-zset has 118, sliding-window-counter has 117, token-bucket has 143, gcra has 143, leaky-bucket has 143, budget has 125
[1]

## with several limits, each decision and the report say which denied
$ rlctl burst steady --limit 2/1s --limit 3/10s --rate 3/s --duration 2s --model fixed-window --json -o x.jsonl
{"pattern":"steady",[..],"limits":[{[..],"text":"2/1s"},{[..],"text":"3/10s"}],[..],"runs":[{"algorithm":"fixed-window","sent":6,"allowed":3,"denied":3,[..],"denied_by_limit":[1,2],[..]}]}
$ cat x.jsonl
{"algorithm":"fixed-window","at_us":1767225600000000,"key":"1","cost":1,"allowed":true,"remaining":1,"retry_after_us":0,"reset_after_us":10000000,"delay_us":0,"request":1,"denied_by":null}
{"algorithm":"fixed-window","at_us":1767225600333333,"key":"1","cost":1,"allowed":true,"remaining":0,"retry_after_us":0,"reset_after_us":9666667,"delay_us":0,"request":2,"denied_by":null}
{"algorithm":"fixed-window","at_us":1767225600666666,"key":"1","cost":1,"allowed":false,"remaining":0,"retry_after_us":333334,"reset_after_us":9333334,"delay_us":0,"request":3,"denied_by":"2/1s"}
{"algorithm":"fixed-window","at_us":1767225601000000,"key":"1","cost":1,"allowed":true,"remaining":0,"retry_after_us":0,"reset_after_us":9000000,"delay_us":0,"request":4,"denied_by":null}
{"algorithm":"fixed-window","at_us":1767225601333333,"key":"1","cost":1,"allowed":false,"remaining":0,"retry_after_us":8666667,"reset_after_us":8666667,"delay_us":0,"request":5,"denied_by":"3/10s"}
{"algorithm":"fixed-window","at_us":1767225601666666,"key":"1","cost":1,"allowed":false,"remaining":0,"retry_after_us":8333334,"reset_after_us":8333334,"delay_us":0,"request":6,"denied_by":"3/10s"}

## JSON has the worst window of each key, the worst first
$ rlctl burst poisson --limit 4/10s --keys 3 --rate 2/s --duration 20s --model fixed-window --json
{"pattern":"poisson",[..],"runs":[{"algorithm":"fixed-window",[..],"worst_keys":[{"key":"2","allowed":7,"ratio":1.75,"from_us":1767225604524166,"span_us":8014853,[..]},{"key":"1","allowed":4,"ratio":1,"from_us":1767225600455839,"span_us":2710530,[..]},{"key":"3","allowed":4,"ratio":1,"from_us":1767225600071863,"span_us":2168453,[..]}],[..]}]}

## --start sets the time of the first request, or before which edge of a window it is
$ rlctl burst steady --limit 10/10s --requests 2 --start 2040-02-02T00:00:01Z --model gcra -q -o x.jsonl
$ cat x.jsonl
{"algorithm":"gcra","at_us":2211753601000000,"key":"1","cost":1,"allowed":true,"remaining":9,"retry_after_us":0,"reset_after_us":1000000,"delay_us":0,"request":1,"denied_by":null}
{"algorithm":"gcra","at_us":2211753601500000,"key":"1","cost":1,"allowed":true,"remaining":8,"retry_after_us":0,"reset_after_us":1500000,"delay_us":0,"request":2,"denied_by":null}
$ rlctl burst --limit 1/60s --start 2211753601000000 --model gcra --json -o x.jsonl
{"pattern":"boundary",[..],"command":"rlctl burst boundary gcra --limit 1/60s --model --seed 1 --start 2211753601000000",[..],"runs":[{"algorithm":"gcra","sent":2,"allowed":1,"denied":1,[..]}]}
$ cat x.jsonl
{"algorithm":"gcra","at_us":2211753659990000,"key":"1","cost":1,"allowed":true,"remaining":0,"retry_after_us":0,"reset_after_us":60000000,"delay_us":0,"request":1,"denied_by":null}
{"algorithm":"gcra","at_us":2211753660000000,"key":"1","cost":1,"allowed":false,"remaining":0,"retry_after_us":59990000,"reset_after_us":59990000,"delay_us":0,"request":2,"denied_by":"1/60s"}

## a file that cannot be written is an error before anything runs, and no other file is touched
$ write a.json
< before
$ without-server
$ env TMPDIR=/nowhere
$ rlctl burst -o a.json -o none/a.svg
! rlctl: burst: -o: cannot write 'none/a.svg': no such file or directory
[2]
$ cat a.json
before
$ cat none/a.svg
! cat: none/a.svg: no such file
[1]

## the first difference of two scripts names the request and the key
$ copy tests/limiters/early-log.lua
$ copy tests/limiters/trusting-log.lua
$ write limiters.toml
< [script.exact]
< file = "trusting-log.lua"
$ write requests.log
< 0 a
< 1 a
< 60 b
< 60.5 a
< 60.999999 a
$ without-server
$ rlctl burst --replay requests.log --limit 2/60s early-log.lua --args '{now_us} {window_us} {limit} {id}' --compare sliding-window-log -q
! rlctl: burst: the limiters differ, first at request 5 (key 'a'): early-log.lua allows it, sliding-window-log denies it
[1]
$ rlctl burst --replay requests.log --limit 2/60s early-log.lua --args '{now_us} {window_us} {limit} {id}' --compare trusting-log.lua -q
! rlctl: burst: the limiters differ, first at request 5 (key 'a'): early-log.lua allows it, trusting-log.lua denies it
[1]
$ rlctl burst --replay requests.log --limit 2/60s early-log.lua --args '{now_us} {window_us} {limit} {id}' --compare early-log.lua -q
$ rlctl --config limiters.toml burst --limit 2/60s fixed-window --compare exact -q
! rlctl: burst: the limiters differ, first at request 3 (key '1'): fixed-window allows it, exact denies it
[1]

## JSON says whether two limiters differ, and where
$ rlctl burst boundary fixed-window --limit 3/3s --model --compare sliding-window-log --seed 1 --json
{"pattern":"boundary",[..],"runs":[{"algorithm":"fixed-window",[..]},{"algorithm":"sliding-window-log",[..]}],"compare":{"algorithm":"sliding-window-log","differs":true,"request":4,"at_us":1767225603000000,"key":"1","allowed":true,"other_allowed":false}}
[1]
$ rlctl burst steady sliding-window-log --limit 5/10s --compare sliding-window-zset --model --requests 2 --json
{"pattern":"steady",[..],"runs":[{"algorithm":"sliding-window-log",[..]},{"algorithm":"sliding-window-zset",[..]}],"compare":{"algorithm":"sliding-window-zset","differs":false,"request":null,"at_us":null,"key":null,"allowed":null,"other_allowed":null}}

## a comparison gives a burst to whichever of the two limiters takes one
$ rlctl burst --model --limit 5/60s --burst 3 gcra --compare fixed-window -q
! rlctl: burst: the limiters differ, first at request 4 (key '1'): fixed-window allows it, gcra denies it
[1]
$ rlctl burst --model --limit 5/60s --burst 3 fixed-window --compare gcra -q
! rlctl: burst: the limiters differ, first at request 4 (key '1'): fixed-window allows it, gcra denies it
[1]

## only one limiter of a comparison, or its log, is read from standard input
$ rlctl burst - --compare -
< return 1
! rlctl: burst: '-' and --compare - both read standard input
!   hint: pass a file for one of them
[2]
$ rlctl burst gcra --compare - --replay -
< 1 a
! rlctl: burst: --compare - and --replay - both read standard input
!   hint: pass a file for one of them
[2]
$ rlctl burst --requests 1 gcra --compare - -q
< return 1
! rlctl: burst: warning: no time passes for stdin: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}

## a comparison leaves no key on a server that is named
$ rlctl burst --url SERVER --limit 5/60s fixed-window --compare sliding-window-log -q
! rlctl: burst: writing under 'rlctl-burst:[..]:' on SERVER
! rlctl: burst: the limiters differ, first at request 6 (key '1'): fixed-window allows it, sliding-window-log denies it
[1]
$ keys

## an algorithm that denies all has no hint
$ without-server
$ rlctl burst gcra --limit 3/60s --cost 7 -q
