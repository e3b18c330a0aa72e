# needs: server
# `rlctl burst FILE`: limiters of somebody else in Lua, unchanged. tests/script has templates and replies.

## a decision has what the script reports, and null for the rest
$ write count.lua
< local count = redis.call('INCR', KEYS[1])
< redis.call('PEXPIRE', KEYS[1], 60000)
< return count
$ rlctl burst count.lua --limit 1/60s --allowed-when '<=limit' -q -o count.jsonl
$ cat count.jsonl
{"algorithm":"count.lua","at_us":1767225659990000,"key":"1","cost":1,"allowed":true,"remaining":null,"retry_after_us":0,"reset_after_us":null,"delay_us":0,"request":1,"denied_by":null}
{"algorithm":"count.lua","at_us":1767225660000000,"key":"1","cost":1,"allowed":false,"remaining":null,"retry_after_us":null,"reset_after_us":null,"delay_us":0,"request":2,"denied_by":null}
$ write odd.lua
< return {ARGV[1] % 2, 7}
$ rlctl burst odd.lua --limit 1/60s --args '{id} {now}' --head 'retry_after r[2] s' -q -o odd.jsonl
$ cat odd.jsonl
{"algorithm":"odd.lua","at_us":1767225659990000,"key":"1","cost":1,"allowed":true,"remaining":null,"retry_after_us":0,"reset_after_us":null,"delay_us":0,"request":1,"denied_by":null}
{"algorithm":"odd.lua","at_us":1767225660000000,"key":"1","cost":1,"allowed":false,"remaining":null,"retry_after_us":7000000,"reset_after_us":null,"delay_us":0,"request":2,"denied_by":null}
$ rlctl burst odd.lua --limit 1/60s --args '{id} {now}' --allowed-when zero --head 'retry_after r[1] ms' -q -o odd.jsonl
! rlctl: burst: warning: odd.lua: the reply may be inverted: the first request was denied, and a later one was allowed; try --allowed-when nonzero
$ cat odd.jsonl
{"algorithm":"odd.lua","at_us":1767225659990000,"key":"1","cost":1,"allowed":false,"remaining":null,"retry_after_us":1000,"reset_after_us":null,"delay_us":0,"request":1,"denied_by":null}
{"algorithm":"odd.lua","at_us":1767225660000000,"key":"1","cost":1,"allowed":true,"remaining":null,"retry_after_us":0,"reset_after_us":null,"delay_us":0,"request":2,"denied_by":null}
$ rlctl burst odd.lua --limit 1/60s --args '{id} {now}' --allowed-when always --head 'delay r[1] s' -q -o odd.jsonl
$ cat odd.jsonl
{"algorithm":"odd.lua","at_us":1767225659990000,"key":"1","cost":1,"allowed":true,"remaining":null,"retry_after_us":0,"reset_after_us":null,"delay_us":1000000,"request":1,"denied_by":null}
{"algorithm":"odd.lua","at_us":1767225660000000,"key":"1","cost":1,"allowed":true,"remaining":null,"retry_after_us":0,"reset_after_us":null,"delay_us":0,"request":2,"denied_by":null}

## a log that is told the cutoff, in the order of a well-known article, is run and its reply read
$ write log.lua
< redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1])
< local count = redis.call('ZCARD', KEYS[1])
< if count < tonumber(ARGV[3]) then
<   redis.call('ZADD', KEYS[1], ARGV[2], ARGV[2])
<   redis.call('PEXPIRE', KEYS[1], ARGV[4])
<   return {ARGV[3] - count - 1, ARGV[3]}
< end
< return {-1, ARGV[3]}
$ rlctl burst log.lua --limit 10/60s --args '{cutoff_us} {now_us} {limit} {window_ms}' --allowed-when 'r[1] >= 0' --head 'remaining r[1]' --json
{[..]"algorithm":"log.lua","sent":20,"allowed":10[..]"worst":{"allowed":10,"ratio":1,"from_us":1767225659990000,"span_us":9000,"key":"1","limit":10,"window_us":60000000}[..]"remaining":{"compared":20,"too_many":0,"too_few":0},"reset_after":null[..]}
$ rlctl burst log.lua --limit 10/60s --args '{cutoff_us} {now_us} {limit} {window_ms}' --allowed-when 'r[1] >= 0' --head 'remaining tonumber(r[2])' --head 'reset_after window_s / 2 s' -q --assert reset_after_too_early_us==30000000 --assert reset_after_too_late_us==0
$ rlctl burst log.lua --limit 10/60s --args '{cutoff_us} {now_us} {limit} {window_ms}' --allowed-when 'r[1] >= 0' --head 'remaining tonumber(r[2])' -q --assert 'worst<=1' --assert 'remaining_too_many==0' --assert 'reset_after_too_late_us==0'
! rlctl: burst: assertion 'remaining_too_many==0' does not hold: log.lua has 10
! rlctl: burst: assertion 'reset_after_too_late_us==0' does not hold: log.lua has no value
[1]

## the command of a script has all its options, and repeats it
$ write count.lua
< local count = redis.call('INCR', KEYS[1])
< redis.call('PEXPIRE', KEYS[1], 60000)
< return count
$ rlctl burst steady count.lua gcra --limit 20/s --keys '{{key}}' --keys 3 --args "'it'\''s' \"two words\" '' {now}" --seed 4 --allowed-when "r <= limit and type(r) ~= 'x'" --head 'remaining limit - r' --head 'retry_after 5 s' --head 'reset_after window us' --json --assert 'allowed<0'
{"pattern":"steady",[..],"command":"rlctl burst steady count.lua gcra --limit 20/1s --args ''\\''it'\\''\\'\\'''\\''s'\\'' \"two words\" '\\'''\\'' {now}' --allowed-when 'r <= limit and type(r) ~= '\\''x'\\''' --head 'remaining limit - r' --head 'retry_after 5 s' --head 'reset_after window us' --keys '{{key}}' --keys 3 --seed 4",[..]}
! {"error":{"code":"assertion","message":"assertion 'allowed<0' does not hold: count.lua has 60, gcra has 236","hint":null}}
[1]
$ rlctl burst steady count.lua gcra --limit 20/1s --args ''\''it'\''\'\'''\''s'\'' "two words" '\'''\'' {now}' --allowed-when 'r <= limit and type(r) ~= '\''x'\''' --head 'remaining limit - r' --head 'retry_after 5 s' --head 'reset_after window us' --keys '{{key}}' --keys 3 --seed 4 -q --assert 'allowed<0'
! rlctl: burst: assertion 'allowed<0' does not hold: count.lua has 60, gcra has 236
[1]
$ rlctl burst count.lua --limit 9/s --args '{now_us}' --json
{[..]"command":"rlctl burst boundary count.lua --limit 9/1s --args '{now_us}' --seed 1","interrupted"[..]}
! rlctl: burst: warning: count.lua: the replies fit the limit if they are read with --allowed-when 'r <= limit'

## --keys is a number of keys or a template of a key; --args is split as by a shell
$ write echo.lua
< return redis.error_reply('ERR ' .. table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|'))
$ rlctl burst echo.lua --limit 1/60s --keys 'a {key}' --keys 7 --keys '{user:{key}}:b' --args "{now_s} 'two words' \"\" x\\ y {limit}"
! rlctl: burst: echo.lua: a 1|{user:1}:b#1767225659|two words||x y|1; request 1 had KEYS 'a 1' '{user:1}:b' and ARGV '1767225659' 'two words' '' 'x y' '1'
!   hint: an error is not taken for a denial: let the script return a value for it, and say which with --allowed-when
[5]
$ rlctl burst echo.lua --keys '{now}' --args ''
! rlctl: burst: echo.lua: 1767225659.990000#; request 1 had KEYS '1767225659.990000' and ARGV none
!   hint: an error is not taken for a denial: let the script return a value for it, and say which with --allowed-when
[5]
$ rlctl burst echo.lua --burst 7 --args '{burst} {now}' fixed-window -q
! rlctl: burst: echo.lua: 1#7|1767225659.990000; request 1 had KEYS '1' and ARGV '7' '1767225659.990000'
!   hint: an error is not taken for a denial: let the script return a value for it, and say which with --allowed-when
[5]
$ rlctl burst echo.lua --args '{burst} {cost} {now}' --cost 3 --limit 9/1s
! rlctl: burst: echo.lua: 1#9|3|1767225600.990000; request 1 had KEYS '1' and ARGV '9' '3' '1767225600.990000'
!   hint: an error is not taken for a denial: let the script return a value for it, and say which with --allowed-when
[5]

## {key1} in --args is the name that KEYS has
$ write named.lua
< if KEYS[2] ~= ARGV[1] then return redis.error_reply('OTHER ' .. ARGV[1]) end
< return redis.call('INCR', KEYS[2]) <= 5
$ rlctl burst named.lua --limit 5/60s --keys 'a:{key}' --keys 'b:{key}' --args '{key2} {now}' -q --assert allowed==5
$ rlctl adversary --tries 200 named.lua --limit 5/60s --keys 'a:{key}' --keys 'b:{key}' --args '{key2} {now}' -q
$ rlctl debug named.lua x y --args '{key2}' --trace -q
+ named.lua:1  if KEYS[2] ~= ARGV[1] then return redis.error_reply('OTHER ' .. ARGV[1]) end
+ named.lua:2  return redis.call('INCR', KEYS[2]) <= 5
|   redis> INCR y      1
= 1    2 lines, 1 redis call; 1 key was changed
  'y': not there → string, "1", no ttl

## an error of the script has its line and the request
$ write bad.lua
< local n = tonumber(ARGV[1])
<
< if n == 1500 then return n + nil end
< return 1
$ rlctl burst bad.lua --args '{id} {now_ms}'
! rlctl: burst: bad.lua:3: attempt to perform arithmetic on a nil value; request 1500 had KEYS '1' and ARGV '1500' '1767225660004'
[5]
$ rlctl burst bad.lua --args '{id} {now_ms}' --json
! {"error":{"code":"ERR","message":"bad.lua:3: attempt to perform arithmetic on a nil value; request 1500 had KEYS '1' and ARGV '1500' '1767225660004'","hint":null}}
[5]
$ write ends.lua
< local x = 1
< if x then
$ rlctl burst ends.lua
! rlctl: burst: ends.lua:2: Error compiling script (new function): 'end' expected (to close 'if' at line 2) near '<eof>'
[5]

## the error of a script that lacks a key or an argument has a hint
$ write two.lua
< return redis.call('INCRBY', KEYS[2], ARGV[1]) + ARGV[12]
$ rlctl burst two.lua --keys '{key}:a {key}:b' --args 1 -q
! rlctl: burst: warning: no time passes for two.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: two.lua:1: Lua redis lib command arguments must be strings or integers; request 1 had KEYS '1:a 1:b' and ARGV '1'
!   hint: the script uses KEYS[2], but #KEYS is 1; give --keys once for each key
[5]
$ rlctl burst two.lua --keys '{key}:a' --keys '{key}:b' --args 1 -q
! rlctl: burst: warning: no time passes for two.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: two.lua:1: attempt to perform arithmetic on field '?' (a nil value); request 1 had KEYS '1:a' '1:b' and ARGV '1'
!   hint: the script uses ARGV[12], but #ARGV is 1; give all of them in one --args
[5]
$ rlctl burst two.lua --keys '{key}:a' --keys '{key}:b' --args '1 2 3 4 5 6 7 8 9 10 11 x' -q
! rlctl: burst: warning: no time passes for two.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: two.lua:1: attempt to perform arithmetic on field '?' (a string value); request 1 had KEYS '1:a' '1:b' and ARGV '1' '2' '3' '4' '5' '6' '7' '8' '9' '10' '11' 'x'
[5]

## a reply that cannot be read is shown
$ write ok.lua
< return {ok = 'QUEUED'}
$ rlctl burst ok.lua --args '{now}'
! rlctl: burst: allowed: ok.lua replied 'QUEUED', but 'nonzero' reads a number, or true or false; request 1 had KEYS '1' and ARGV '1767225659.990000'
!   hint: if this reply allows, use --allowed-when 'r == "QUEUED"'
[5]

## a script that relies on a TTL runs in virtual time
$ write ttl.lua
< local count = redis.call('INCR', KEYS[1])
< if count == 1 then redis.call('EXPIRE', KEYS[1], 60) end
< return count
$ rlctl burst steady ttl.lua --limit 5/60s --rate 1/s --duration 5m --allowed-when '<=limit' -q --assert sent==300 --assert allowed==25

## a key that is not in KEYS is an error on a named server, and forgotten on a private one
$ write own.lua
< local count = redis.call('INCR', KEYS[1])
< redis.call('INCR', 'total')
< return count
$ redis SET total 7
OK
$ rlctl burst own.lua --limit 5/1s --args '{now_s}' -u SERVER
! rlctl: burst: writing under 'rlctl-burst:{[..]}:' on SERVER
! rlctl: burst: SERVER: own.lua:2: the script touches 'total', which is not one of its KEYS; request 1 had KEYS 'rlctl-burst:{[..]}:1:1' and ARGV '1767225600'
!   hint: use --url private: instead, where it may touch any key, or name all of its keys in --keys
[5]
$ rlctl burst own.lua --limit 5/1s --args '{now_s}' -u SERVER --clock real
! rlctl: burst: writing under 'rlctl-burst:{[..]}:' on SERVER
! rlctl: burst: SERVER: own.lua:2: the script touches 'total', which is not one of its KEYS; request 1 had KEYS 'rlctl-burst:{[..]}:1:1' and ARGV '[..]'
!   hint: use --url private: instead, where it may touch any key, or name all of its keys in --keys
[5]
$ rlctl adversary own.lua --args '{now_s}' -u SERVER
! rlctl: adversary: writing under 'rlctl-burst:{[..]}:' on SERVER
! rlctl: adversary: SERVER: own.lua:2: the script touches 'total', which is not one of its KEYS; request 1 had KEYS 'rlctl-burst:{[..]}:1:1' and ARGV '1767225600'
!   hint: use --url private: instead, where it may touch any key, or name all of its keys in --keys
[5]
$ keys
total string persistent 7
$ write one.lua
< return redis.call('INCR', 'total')
$ write two.lua
< return redis.call('INCR', 'total')
$ rlctl burst one.lua own.lua two.lua --limit 5/1s --args '{now}' --allowed-when '<=limit' -q --assert allowed==5

## after an error, all that the script wrote on another server is removed
$ redis SET rlctl-burst:mine 1
OK
$ write more.lua
< redis.call('SET', KEYS[1], 1)
< if ARGV[1] == '8' then error('x') end return 1
$ rlctl burst more.lua -u SERVER --limit 5/1s --args '{id} {now_s}' -q
! rlctl: burst: writing under 'rlctl-burst:{[..]}:' on SERVER
! rlctl: burst: SERVER: more.lua:2: x; request 8 had KEYS 'rlctl-burst:{[..]}:1:1' and ARGV '8' '1767225601'
[5]
$ keys
rlctl-burst:mine string persistent 1
