# needs: server
# The configuration file, and rlctl config. config.bats has what needs other users, pipes or no file at all; refusals.tsv
# has what is wrong with a whole file.

## the file is that of --config, else RLCTL_CONFIG, else XDG_CONFIG_HOME, else HOME, and is read only if it is needed
$ write named
$ write variable
< nonsense
$ write xdg/rlctl/config.toml
$ write .config/rlctl/config.toml
$ env RLCTL_CONFIG=variable XDG_CONFIG_HOME=FOLDER/xdg
$ rlctl --config named config path
named
$ rlctl config path
variable
$ rlctl check -q --timeout 30s k --limit 5/60s
$ env RLCTL_CONFIG=
$ rlctl config path
FOLDER/xdg/rlctl/config.toml
$ env XDG_CONFIG_HOME=./relative
$ rlctl config path
FOLDER/.config/rlctl/config.toml
$ env XDG_CONFIG_HOME=
$ rlctl config path
FOLDER/.config/rlctl/config.toml
$ env RLCTL_CONFIG=nowhere
$ rlctl config check
! rlctl: config: RLCTL_CONFIG: cannot read 'nowhere': no such file or directory
! Try 'rlctl config check --help'.
[2]

## a configuration that others can write is refused with a remedy: it runs no program, and no server that it names gets a password
$ each CALL 'config show' 'burst evil' list 'check k --limit 5/60s'
$ env RLCTL_CONFIG=c.toml RLCTL_URL= REDISCLI_AUTH=secret
$ write c.toml
< url = "SERVER"
< script.evil = {exec = "sh -c 'echo ran >ran'"}
$ chmod 666 c.toml
$ rlctl CALL
! rlctl: c.toml is a configuration, and any user can write it (mode 0666)
!   hint: read it, and then: chmod go-w c.toml[..]
[2]
$ rlctl check --policy login ann
! rlctl: c.toml is a configuration, and any user can write it (mode 0666)
!   hint: read it, and then: chmod go-w c.toml, or pass --limit and --config /dev/null
[2]
$ rlctl lint evil
! rlctl: c.toml is a configuration, and any user can write it (mode 0666)
!   hint: read it, and then: chmod go-w c.toml, or pass --config /dev/null to ignore it
[3]
$ cat ran
! cat: ran: no such file
[1]
$ chmod 644 c.toml
$ rlctl list
! rlctl: SERVER: AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?
!   hint: user 'default' has no password on this server; name another with --user, or give no password
[4]

## a password that others can read stops only a call that uses the URL
$ env RLCTL_CONFIG=c.toml
$ write c.toml
< url = "redis://password@h"
< timeout = "30s"
$ rlctl config show
! rlctl: c.toml holds a password, and any user can read it (mode 0644)
!   hint: chmod 600 c.toml
[2]
$ rlctl check -q k --limit 5/60s
! rlctl: warning: c.toml holds a password, and any user can read it (mode 0644)
$ env RLCTL_URL=
$ rlctl check k --limit 5/60s
! rlctl: c.toml holds a password, and any user can read it (mode 0644)
!   hint: chmod 600 c.toml, or pass --url, or --config /dev/null to ignore the file
[2]
$ chmod 600 c.toml
$ rlctl config check
c.toml: 0 policies, no errors

## config show: settings with their sources, policies, and scripts, whose files are relative to the configuration
$ env RLCTL_CONFIG=conf/c.toml RLCTL_URL=
$ write conf/lua/count.lua
$ write conf/c.toml
< url = "unix:///run/redis.sock"
< policy.login = {key = "login:%s", limit = "5/60s", ipv6_prefix = 64}
< policy.api = {key = "ä:%s", algorithm = "gcra", limit = ["10/s", "100/min"]}
< policy."登录" = {key = "login:%s", algorithm = "leaky-bucket", limit = ["1/s", "60/min"], burst = 20}
< policy."cafe\u0301\u001b[32m x" = {key = "\u0007", limit = "1/s"}
< policy.same = {key = "login:%s", algorithm = "gcra", limit = "9/60s"}
< library.acme = {key = "acme:left:*", type = "string", value = "remaining", limit = "7/60s"}
< [script.count]
< file = "lua/count.lua"
< keys = ["hist:{key}", "{now_s}"]
< args = ["{limit}", "two words", ""]
< allowed = "<=limit"
< [script]
< "a b" = {file = "/dev/null", args = "{now_ms} {limit}"}
< mine = {exec = "python3 'my limiter.py' --fast"}
$ rlctl config show --timeout 2s
file     conf/c.toml
url      unix:///run/redis.sock  (file)
timeout  2s                      (option)

policy             key       algorithm           limit          burst   ipv6_prefix
login              login:%s  sliding-window-log  5/60s          -       64
api                ä:%s      gcra                10/1s,100/60s  10,100  -
登录               login:%s  leaky-bucket        1/1s,60/60s    20      -
café\x1b[32m\x20x  \x07      sliding-window-log  1/1s           -       -
same               login:%s  gcra                9/60s          9       -

script  file                exec                                    keys                  args                                  allowed
count   conf/lua/count.lua  -                                       'hist:{key} {now_s}'  '{limit} '\''two words'\'' '\'''\'''  <=limit
a\x20b  /dev/null           -                                       {key}                 '{now_ms} {limit}'                    -
mine    -                   'python3 '\''my limiter.py'\'' --fast'  -                     -                                     -
$ rlctl config show --json
{"file":"conf/c.toml","url":"unix:///run/redis.sock","url_from":"file","timeout_us":1000000,"timeout_from":"default",[..],"policies":[{"name":"login","key":"login:%s",[..]},[..],{"name":"same",[..]}],"scripts":[{"name":"count","file":"conf/lua/count.lua",[..]},{"name":"a b","file":"/dev/null",[..]},{"name":"mine","file":null,"exec":"python3 'my limiter.py' --fast",[..]}]}
$ rlctl config show same 登录 'a b'
file     conf/c.toml
url      unix:///run/redis.sock  (file)
timeout  1s                      (default)

policy  key       algorithm     limit        burst  ipv6_prefix
same    login:%s  gcra          9/60s        9      -
登录    login:%s  leaky-bucket  1/1s,60/60s  20     -

script  file       keys   args
a\x20b  /dev/null  {key}  '{now_ms} {limit}'
$ rlctl config check
conf/c.toml: 5 policies, 3 scripts, 1 library, no errors
! rlctl: config: warning: conf/c.toml:6: policies 'login' and 'same' have the same keys, but the algorithms sliding-window-log and gcra: on one server, each cannot use what the other stores
$ rlctl config check --json
{"file":"conf/c.toml","policies":5,"scripts":3,"libraries":1}
! rlctl: config: warning: conf/c.toml:6: policies 'login' and 'same' have the same keys, but the algorithms sliding-window-log and gcra: on one server, each cannot use what the other stores

## config check reports every mistake, and the other commands only the one that stops them
$ env RLCTL_CONFIG=c.toml
$ write c.toml
< url = 5
< [polcy.login]
< [script.bad]
< file = "none.lua"
$ rlctl config check
! rlctl: c.toml:1: url must be a string, not 5
! rlctl: c.toml:2: unknown table 'polcy'; did you mean 'policy'?
! rlctl: c.toml:4: script 'bad': file: cannot read 'none.lua': no such file or directory
[2]
$ rlctl config check --json
! {"error":{"code":"configuration","message":"c.toml:1: url must be a string, not 5","hint":null}}
! {"error":{"code":"configuration","message":"c.toml:2: unknown table 'polcy'; did you mean 'policy'?","hint":null}}
! {"error":{"code":"configuration","message":"c.toml:4: script 'bad': file: cannot read 'none.lua': no such file or directory","hint":null}}
[2]
$ rlctl check --policy login ann
! rlctl: c.toml:2: unknown table 'polcy'; did you mean 'policy'?
!   hint: correct the file, or pass --limit instead of --policy; 'rlctl config check' shows 2 more errors
[2]
$ rlctl check login:ann --limit 5/60s -q
! rlctl: warning: c.toml:1: url must be a string, not 5; 'rlctl config check' shows 2 more errors

## a mistake in a setting that a call does not use is a warning
$ each CALL 'check -q --policy login ann' 'check -q login:ann --limit 5/60s' 'reset -q --match none'
$ env RLCTL_CONFIG=c.toml
$ write c.toml
< timeout = "30s"
< colour = "red"
< policy.login = {key = "login:%s", limit = "5/60s"}
< policy.api = {key = "api:%s", limit = "5/60q"}
$ rlctl CALL
! rlctl: warning: c.toml:2: unknown key 'colour'; expected one of: url, password_file, tls, cacert, cert, key, sni, insecure, timeout, policy, script or library; 'rlctl config check' shows 1 more error
$ rlctl list 'none*'
! rlctl: warning: c.toml:2: unknown key 'colour'; expected one of: url, password_file, tls, cacert, cert, key, sni, insecure, timeout, policy, script or library; 'rlctl config check' shows 1 more error
! no limiter matches
!   hint: keys with several limits have other names: '{none*}:*'
[1]

## a mistake in the timeout stops a call without --timeout, and an unknown server one without a URL
$ env RLCTL_CONFIG=c.toml
$ write c.toml
< timeout = "5"
$ rlctl check k --limit 5/60s
! rlctl: c.toml:1: timeout: '5' has no unit after 5; use us, ms, s, m, h or d
!   hint: correct the file, or pass --timeout, or --config /dev/null to ignore the file
[2]
$ rlctl check -q k --limit 5/60s --timeout 30s
$ rlctl check -q k --limit 5/60s --config /dev/null
$ write c.toml
< host = "10.0.0.5"
$ rlctl check -q k --limit 5/60s
! rlctl: warning: c.toml:1: unknown key 'host'; the server is url = "redis://HOST:PORT"
$ env RLCTL_URL=
$ rlctl check k --limit 5/60s
! rlctl: c.toml:1: unknown key 'host'; the server is url = "redis://HOST:PORT"
!   hint: correct the file, or pass --url, or --config /dev/null to ignore the file
[2]

## config check reports every mistake in a script with its line; other commands, only what uses the script
$ write folder/none
$ env RLCTL_CONFIG=c.toml
$ write c.toml
< [script.bad]
< file = "folder"
< keys = ["{kye}"]
< args = "'open"
< alowed = "nil"
< allowed = "yes"
< delay = "r"
< release = "none.lua"
< [script.program]
< exec = "sh '"
< file = "/dev/null"
< keys = "{kye}"
< allowed = "r"
< [script]
< none = {}
< both = {exec = "sh", file = "none.lua"}
< empty = {exec = ""}
< listed = {exec = ["sh"]}
< good = {file = "/dev/null"}
< all = {file = "/dev/null"}
< steady = {file = "/dev/null"}
$ rlctl config check
! rlctl: c.toml:2: script 'bad': file: cannot read 'folder': is a directory
! rlctl: c.toml:3: script 'bad': keys: '{kye}' contains {kye}, which is not a placeholder; did you mean {key}?
! rlctl: c.toml:4: script 'bad': args: ''open' has a quote that is not closed: '
! rlctl: c.toml:5: script 'bad': unknown key 'alowed'; did you mean 'allowed'?
! rlctl: c.toml:6: script 'bad': allowed: 'yes': unknown name 'yes' at column 1
! rlctl: c.toml:7: script 'bad': delay: 'r' has no unit; write 'r s', 'r ms' or 'r us'
! rlctl: c.toml:8: script 'bad': release: cannot read 'none.lua': no such file or directory
! rlctl: c.toml:10: script 'program': exec: 'sh '' has a quote that is not closed: '
! rlctl: c.toml:11: script 'program': file: exec is a program, which takes nothing else
! rlctl: c.toml:12: script 'program': keys: exec is a program, which takes nothing else
! rlctl: c.toml:13: script 'program': allowed: exec is a program, which takes nothing else
! rlctl: c.toml:15: script 'none': file is missing; write file = "my.lua"
! rlctl: c.toml:16: script 'both': file: exec is a program, which takes nothing else
! rlctl: c.toml:17: script 'empty': exec: the command is empty
! rlctl: c.toml:18: script 'listed': exec must be a string, not a list
! rlctl: c.toml:20: script 'all': burst takes this name for something else; choose another
! rlctl: c.toml:21: script 'steady': burst takes this name for something else; choose another
[2]
$ rlctl check -q k --limit 5/60s
$ rlctl burst bad
! rlctl: c.toml:2: script 'bad': file: cannot read 'folder': is a directory
!   hint: correct the file, or name the file of the script instead; 'rlctl config check' shows 16 more errors
[2]
$ rlctl debug good k --coverage -q
no lines that can be reached
! rlctl: warning: c.toml:2: script 'bad': file: cannot read 'folder': is a directory; 'rlctl config check' shows 16 more errors

## only the keys of a library with a mistake are unknown
$ env RLCTL_CONFIG=c.toml
$ write c.toml
< library.acme = {key = "acme:left:*", type = "string", value = "remaining", limit = "7/60s"}
< library.bad = {key = "bad:*", type = "string", value = "left"}
$ redis MSET acme:left:ann 2 bad:ann 2
OK
$ rlctl quota -w 4 acme:left:ann
RATELIMIT WARNING - acme:left:ann 71% used (5 of 7) | used=5;4;6.65;0;7 remaining=2;;;0;7
[1]
$ rlctl quota bad:ann --limit 5/60s
RATELIMIT UNKNOWN - 'bad:ann': the row that says how to read it has a mistake: library 'bad': value: must be one of: count, remaining, tat, level, tokens, times, leases or none, not 'left'
hint: rlctl inspect bad:ann shows what it holds
[3]

## option before environment before file, and options change parts of a URL
$ env RLCTL_CONFIG=c.toml RLCTL_URL=
$ write c.toml
< url = "redis://file:1/3"
< timeout = "250ms"
$ rlctl config show --json
{"file":"c.toml","url":"redis://file:1/3","url_from":"file","timeout_us":250000,"timeout_from":"file",[..]
$ rlctl config show --json -p 9 --timeout 2m
{"file":"c.toml","url":"redis://file:9/3","url_from":"option","timeout_us":120000000,"timeout_from":"option",[..]
$ rlctl config show --json -H other -n 0 --user u
{"file":"c.toml","url":"redis://u:***@other:1","url_from":"option","timeout_us":250000,"timeout_from":"file",[..]
$ rlctl config show --json -s /tmp/s
{"file":"c.toml","url":"unix:///tmp/s?db=3","url_from":"option","timeout_us":250000,"timeout_from":"file",[..]
$ env RLCTL_URL=redis://environment:2
$ rlctl config show
file     c.toml
url      redis://environment:2  (environment)
timeout  250ms                  (file)
$ rlctl config show --json -u redis://option:3
{"file":"c.toml","url":"redis://option:3","url_from":"option","timeout_us":250000,"timeout_from":"file",[..]
$ env RLCTL_URL=redis+cluster://a:1,b:2
$ rlctl config show --json -H other
{"file":"c.toml","url":"redis+cluster://other:1","url_from":"option","timeout_us":250000,"timeout_from":"file",[..]
$ rlctl config show --json -p 9
{"file":"c.toml","url":"redis+cluster://a:9","url_from":"option","timeout_us":250000,"timeout_from":"file",[..]
$ env RLCTL_URL=redis+sentinel://a:1,b:2/m
$ rlctl config show --json -H other
{"file":"c.toml","url":"redis+sentinel://other:1/m","url_from":"option","timeout_us":250000,"timeout_from":"file",[..]
$ env RLCTL_URL=rediss://h:1
$ rlctl config show --json --insecure
{"file":"c.toml","url":"rediss://h:1","url_from":"option","timeout_us":250000,"timeout_from":"file","cacert":null,"cert":null,"key":null,"sni":null,"password_file":null,"insecure":true,"policies":[],"scripts":[]}
$ rlctl config show --json --sni other
{"file":"c.toml","url":"rediss://h:1","url_from":"option","timeout_us":250000,"timeout_from":"file","cacert":null,"cert":null,"key":null,"sni":"other","password_file":null,"insecure":false,"policies":[],"scripts":[]}
