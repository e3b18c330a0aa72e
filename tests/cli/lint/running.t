# needs: server
# How lint runs scripts and programs: names, and what goes wrong.

## --json is an object a line, with a command that contains any byte
$ write bytes.lua
< redis.call('SET', KEYS[1] .. '\n\255', 'a"b', 'PX', 60000)
< return 1
$ rlctl lint bytes.lua --json --allowed-when always
{"finding":"undeclared-key","severity":"warning","script":"bytes.lua","line":1,"call":"SET ann\\n\\xff a\"b PX 60000","detail":"'ann\n\\xff' is not in KEYS. A Cluster runs the script on the node of its KEYS, where a call for a key of another slot fails.","fix":"pass every key in KEYS, all with one {hash tag}"}
{"script":"bytes.lua","tested":["requests at one instant, through a window of 60 s, and 3h40m30s later; two clients"],"not_tested":[{"what":"retries, idle gaps, costs and figures","why":"nothing was denied: the script's own limit differs, or its reply is misread; see --allowed-when"}]}
! rlctl: lint: warning: bytes.lua: nothing was denied: the script's own limit differs, or its reply is misread; see --allowed-when
[1]

## scripts by name, from the configuration and from standard input are examined in one run, and no server in use is touched
$ write counter.lua
< return redis.call('INCR', KEYS[1])
$ write my.toml
< [script.mine]
< file = "counter.lua"
< keys = ["count:{key}"]
< allowed = "<=limit"
$ rlctl lint --config my.toml mine gcra - --limit 2/10s
< return redis.call('INCR', KEYS[1]) <= 2 and 1 or 0
counter.lua:1: critical: no-ttl: INCR count:ann
    'count:ann' has no TTL when the script returns. Its client is denied
    forever.
    Fix: set a TTL when the key is new: if the new count is what this call
    added, PEXPIRE it by the window.
stdin:1: critical: no-ttl: INCR ann
    'ann' has no TTL when the script returns. Its client is denied forever.
    Fix: set a TTL when the key is new: if the new count is what this call
    added, PEXPIRE it by the window.
2 critical findings in 3 scripts ([..] requests)
Search for requests that exceed the limit:
    rlctl adversary mine --config my.toml --limit 2/10s
    rlctl adversary gcra --config my.toml --limit 2/10s
    rlctl adversary - --config my.toml --limit 2/10s
[2]
$ keys

## a script that is called otherwise than it expects, or replies an error, is an error with a hint
$ write two.lua
< return redis.call('INCR', KEYS[2]) <= tonumber(ARGV[1])
$ rlctl lint two.lua
! rlctl: lint: two.lua:1: Lua redis lib command arguments must be strings or integers; request 1 had KEYS 'ann' and ARGV none
!   hint: the script uses KEYS[2], but #KEYS is 1; give --keys once for each key
[3]
$ rlctl lint -
< return redis.error_reply('MY mistake')
! rlctl: lint: stdin: MY mistake; request 1 had KEYS 'ann' and ARGV none
!   hint: an error is not taken for a denial: let the script return a value for it, and say which with --allowed-when
[3]

## a program of the configuration is examined beside a script, and a finding of it has no line
$ write endless.pl
< $| = 1;
< while (<STDIN>) {
<   %used = (), next if /"reset":true/;
<   my ($key, $cost, $limit) = /"key":"(.*?)","cost":(\d+).*"limit":(\d+)/;
<   my $allowed = $used{$key} + $cost <= $limit;
<   $used{$key} += $cost if $allowed;
<   print $allowed ? qq({"allowed":true}\n) : qq({"allowed":false}\n);
< }
$ write my.toml
< [script.mine]
< exec = "perl endless.pl"
$ rlctl lint --config my.toml mine gcra --limit 2/60s
mine: critical: locked-out: Once the limit is reached, a client is still denied after the longest pause that was tried
    Seen: 2 of 3 allowed at 0 s, 0 of 1 at 3h40m.
    Fix: let requests leave the window when it ends.
1 critical finding in 2 limiters ([..] requests)
Search for requests that exceed the limit:
    rlctl adversary mine --config my.toml --limit 2/60s --cost 1,2
    rlctl adversary gcra --config my.toml --limit 2/60s
[2]
$ rlctl lint --config my.toml mine --limit 2/60s --json
{"finding":"locked-out","severity":"critical","script":"mine","schedule":"2 of 3 allowed at 0 s, 0 of 1 at 3h40m","detail":"Once the limit is reached, a client is still denied after the longest pause that was tried.","fix":"let requests leave the window when it ends"}
{"script":"mine","tested":["requests below a limit of 2, each 51 s, 59.99 s, 60 s, 60.01 s, 60.99 s, 61.01 s","one request more than the limit at one instant","clients that ask slightly more often than what refills, and far more often","a second client after one that has reached the limit","costs of 0, of more than is left, and above the limit, unless an error refuses them"],"not_tested":[]}
[2]
$ rlctl lint --config my.toml mine --args '{now}'
! rlctl: lint: --args is for a script in Lua, but 'mine' is a program
! Try 'rlctl lint --help'.
[3]

## a program that fails, or answers the same requests differently, is UNKNOWN
$ rlctl lint --exec 'perl -e "<STDIN>; die q(out of tokens)"'
! rlctl: lint: perl ended with status 255: request 1, of key '1'; its standard error ends with: out of tokens at -e line 1, <STDIN> line 1.
!   hint: a program reads requests until its standard input ends; see rlctl-exec(7)
[3]
$ write chance.pl
< $| = 1;
< while (<STDIN>) {
<   if (/"reset":true/) { $count = 0; ++$runs; next }
<   print ++$count > 4 + $runs % 2 ? qq({"allowed":false}\n) : qq({"allowed":true}\n);
< }
$ rlctl lint --exec 'perl chance.pl'
no findings in what was tested, in 1 program ([..] requests)
Tested:
Not tested:
    retries, idle gaps, costs and figures: the same requests got different
        answers when they were sent again
Search for requests that exceed the limit:
    rlctl adversary --limit 5/60s --exec 'perl chance.pl' --cost 1,5
! rlctl: lint: warning: chance.pl: the same requests got different answers when they were sent again
[3]

## a limit that the traffic does not exceed is scaled down, and a search is named only if it takes the limit
$ write counter.lua
< return redis.call('INCR', KEYS[1])
$ rlctl lint counter.lua --allowed-when '<=limit' --limit 1000/60s
counter.lua:1: critical: no-ttl: INCR ann
    'ann' has no TTL when the script returns. Its client is denied forever.
    Fix: set a TTL when the key is new: if the new count is what this call
    added, PEXPIRE it by the window.
1 critical finding in 1 script ([..] requests)
Search for requests that exceed the limit:
    rlctl adversary counter.lua --limit 1000/60s --allowed-when '<=limit'
! rlctl: lint: warning: counter.lua: the limit 1000/60s is scaled down to 20/60s: the traffic must exceed it
[2]
$ rlctl lint counter.lua --allowed-when '<=limit' --limit 2000/60s
counter.lua:1: critical: no-ttl: INCR ann
    'ann' has no TTL when the script returns. Its client is denied forever.
    Fix: set a TTL when the key is new: if the new count is what this call
    added, PEXPIRE it by the window.
1 critical finding in 1 script ([..] requests)
! rlctl: lint: warning: counter.lua: the limit 2000/60s is scaled down to 20/60s: the traffic must exceed it
[2]
