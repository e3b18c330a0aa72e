# needs: server
# Scripts by name, several scripts, a script on standard input, and KEYS and ARGV as redis-cli has them.

## a configured script is called with its keys and arguments; options replace what its section says
$ write echo.lua
< return redis.error_reply('ERR ' .. table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|'))
$ write rlctl.toml
< [script.echo]
< file = "echo.lua"
< keys = ["{key}", "it's {key}"]
< args = "{now_s} 'two words' ''"
$ env RLCTL_CONFIG=rlctl.toml
$ rlctl burst echo
! rlctl: burst: echo: 1|it's 1#1767225659|two words|; request 1 had KEYS '1' 'it's 1' and ARGV '1767225659' 'two words' ''
!   hint: an error is not taken for a denial: let the script return a value for it, and say which with --allowed-when
[5]
$ rlctl burst echo --args '{now_ms}'
! rlctl: burst: echo: 1|it's 1#1767225659990; request 1 had KEYS '1' 'it's 1' and ARGV '1767225659990'
!   hint: an error is not taken for a denial: let the script return a value for it, and say which with --allowed-when
[5]

## a script is named after its section, whose file is found beside the configuration
$ write b/limit.lua
< local count = redis.call('INCR', KEYS[1])
< redis.call('PEXPIRE', KEYS[1], ARGV[2])
< return count
$ write b/rlctl.toml
< [script.count]
< file = "limit.lua"
< keys = ["hist:{key}:{window_index}"]
< args = ["{limit}", "{window_ms}", "two words"]
< allowed = "<=limit"
$ env RLCTL_CONFIG=b/rlctl.toml
$ rlctl burst count --limit 2/60s --json
{"pattern":"boundary",[..],"command":"rlctl burst boundary count --config b/rlctl.toml --limit 2/60s --seed 1",[..],"runs":[{"algorithm":"count","sent":4,"allowed":4,"denied":0,[..]}]}
$ rlctl burst count --limit 2/60s --keys '{key}' --json
{"pattern":"boundary",[..],"command":"rlctl burst boundary count --config b/rlctl.toml --limit 2/60s --keys '{key}' --seed 1",[..],"runs":[{"algorithm":"count","sent":4,"allowed":2,"denied":2,[..]}]}
$ rlctl burst count --limit 2/60s --keys '{key}' --allowed-when always -q --assert allowed==4
$ env RLCTL_CONFIG=
$ rlctl burst boundary count --config b/rlctl.toml --limit 2/60s --seed 1 -q --assert 'allowed<0'
! rlctl: burst: assertion 'allowed<0' does not hold: count has 4
[1]

## a value with a slash, or ending in .lua, is a file; another is a configured script, else a file
$ write count
< return redis.call('INCR', KEYS[1]) <= 1 and 1 or 0
$ write own
< return redis.call('INCR', KEYS[1]) <= 2 and 1 or 0
$ write count.lua
< return redis.call('INCR', KEYS[1]) <= 3 and 1 or 0
$ write configured.lua
< return redis.call('INCR', KEYS[1]) <= 4 and 1 or 0
$ write rlctl.toml
< [script.count]
< file = "configured.lua"
< args = "{now}"
$ env RLCTL_CONFIG=rlctl.toml
$ without-server
$ rlctl burst ./count --limit 20/60s --args '{now}' -q
! rlctl: burst: warning: count: denied after 1 request, not 20: its own limit differs, the burst is missing, or its reply is misread
$ rlctl burst count --limit 20/60s -q
! rlctl: burst: warning: count: denied after 4 requests, not 20: its own limit differs, the burst is missing, or its reply is misread
$ rlctl burst count.lua --limit 20/60s --args '{now}' -q
! rlctl: burst: warning: count.lua: denied after 3 requests, not 20: its own limit differs, the burst is missing, or its reply is misread
$ rlctl burst own --limit 20/60s --args '{now}' -q
! rlctl: burst: warning: own: denied after 2 requests, not 20: its own limit differs, the burst is missing, or its reply is misread

## several scripts run in the order named, before the algorithms, each once
$ write a/limit.lua
< return redis.call('INCR', KEYS[1]) <= 1 and 1 or 0
$ write gcra
< return redis.call('INCR', KEYS[1])
$ write rlctl.toml
< [script.count]
< file = "gcra"
< args = "{now} 1"
< allowed = "<=limit"
$ env RLCTL_CONFIG=rlctl.toml
$ rlctl burst count gcra a/limit.lua count --args '{now}' --limit 20/60s -q --assert 'allowed<0'
! rlctl: burst: warning: limit.lua: denied after 1 request, not 20: its own limit differs, the burst is missing, or its reply is misread
! rlctl: burst: assertion 'allowed<0' does not hold: count has 20, limit.lua has 1, gcra has 20
[1]
$ rlctl adversary --tries 300 count a/limit.lua --args '{now}' --limit 3/1s -q --assert 'worst<0'
! rlctl: adversary: warning: limit.lua: denied after 1 request, not 3: its own limit differs, the burst is missing, or its reply is misread
! rlctl: adversary: assertion 'worst<0' does not hold: count has 1, limit.lua has 0.333
[1]

## scripts whose files have one name are told apart by their paths
$ write a/limit.lua
< return redis.call('INCR', KEYS[1]) <= 1 and 1 or 0
$ write b/limit.lua
< return redis.call('INCR', KEYS[1]) <= 2 and 1 or 0
$ write gcra
< return redis.call('INCR', KEYS[1]) <= 3 and 1 or 0
$ without-server
$ rlctl burst a/limit.lua ./b/limit.lua ./gcra gcra --args '{now}' --limit 20/60s -q --assert 'allowed<0'
! rlctl: burst: warning: a/limit.lua: denied after 1 request, not 20: its own limit differs, the burst is missing, or its reply is misread
! rlctl: burst: warning: ./b/limit.lua: denied after 2 requests, not 20: its own limit differs, the burst is missing, or its reply is misread
! rlctl: burst: warning: ./gcra: denied after 3 requests, not 20: its own limit differs, the burst is missing, or its reply is misread
! rlctl: burst: assertion 'allowed<0' does not hold: a/limit.lua has 1, ./b/limit.lua has 2, ./gcra has 3, gcra has 20
[1]

## - reads the script from standard input
$ rlctl burst - --args '{limit}' --limit 20/60s --json
< return redis.call('INCR', KEYS[1]) <= ARGV[1] + 0 and 1 or 0
{"pattern":"boundary",[..],"command":"rlctl burst boundary - --limit 20/60s --args '{limit}' --seed 1",[..],"runs":[{"algorithm":"stdin","sent":40,"allowed":20,"denied":20,[..]}]}
! rlctl: burst: warning: no time passes for stdin: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
$ rlctl burst - --args '{limit}'
! rlctl: burst: standard input is empty, but a script is read from it
! Try 'rlctl burst --help'.
[2]
