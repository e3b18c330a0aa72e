# needs: server
# Each report of lint as a whole.

## a script without a finding, with what was tried
$ copy examples/prove-your-limiter/limiter.lua
$ rlctl lint limiter.lua --args '{limit} {window_ms}'
no findings in 1 script (6073 requests)
Tested:
    requests at one instant, through a window of 60 s, and 3h40m30s later;
        two clients
    retries each 12 s, 10.91 s, 8 s, 6 s, 3 s, 1 s after the limit was
        reached, for 480 s, of cost 1
    retries each 1 ms in the last 1 s of the wait, of cost 1
    retries each 1 s in the last 30 s of the wait, of cost 1
    requests below a limit of 5, each 24 s, 24.99 s, 25.01 s, 29.99 s, 30.01
        s, 51 s, 51.85 s, 59.99 s, 60.01 s
    requests after idle gaps of each TTL: 61 s
    a client that takes just what refills, for each TTL: 61 s
    one request more than the limit at one instant
    clients that ask slightly more often than what refills, and far more
        often
    a second client after one that has reached the limit
Search for requests that exceed the limit:
    rlctl burst adversary --script limiter.lua --limit 5/60s --args '{limit} {window_ms}'
$ rlctl lint limiter.lua --args '{limit} {window_ms}' --json
{"script":"limiter.lua","tested":["requests at one instant, through a window of 60 s, and 3h40m30s later; two clients","retries each 12 s, 10.91 s, 8 s, 6 s, 3 s, 1 s after the limit was reached, for 480 s, of cost 1","retries each 1 ms in the last 1 s of the wait, of cost 1","retries each 1 s in the last 30 s of the wait, of cost 1","requests below a limit of 5, each 24 s, 24.99 s, 25.01 s, 29.99 s, 30.01 s, 51 s, 51.85 s, 59.99 s, 60.01 s","requests after idle gaps of each TTL: 61 s","a client that takes just what refills, for each TTL: 61 s","one request more than the limit at one instant","clients that ask slightly more often than what refills, and far more often","a second client after one that has reached the limit"],"not_tested":[]}

## a script with findings
$ copy examples/pitfalls/times-as-members.lua
$ rlctl lint times-as-members.lua --args '{now_ms} {window_ms}' --allowed-when '<=limit'
times-as-members.lua:23: denied-write: ZADD ann 1767225614787 1767225614787
    critical: The request was denied but still counts. A client that keeps
    trying is locked out. Of 43 requests in 469.1 s, 10.91 s apart, 0 were
    allowed; a client that waits in silence is let in after 60 s.
    Fix: count first, and write only if the request is allowed.
times-as-members.lua:23: non-unique-member: ZADD ann 1767225603873 1767225603873
    critical: Another request had added '1767225603873', so this one left no
    trace and is not counted.
    Fix: make each member unique, for example with an ID that the caller passes.
2 critical findings in 1 script (5889 requests)
Search for requests that exceed the limit:
    rlctl burst adversary --script times-as-members.lua --limit 5/60s --args '{now_ms} {window_ms}' --allowed-when '<=limit'
[2]
$ rlctl lint times-as-members.lua --args '{now_ms} {window_ms}' --allowed-when '<=limit' --json
{"finding":"denied-write","severity":"critical","script":"times-as-members.lua","line":23,"call":"ZADD ann 1767225614787 1767225614787","detail":"The request was denied but still counts. A client that keeps trying is locked out. Of 43 requests in 469.1 s, 10.91 s apart, 0 were allowed; a client that waits in silence is let in after 60 s.","fix":"count first, and write only if the request is allowed"}
{"finding":"non-unique-member","severity":"critical","script":"times-as-members.lua","line":23,"call":"ZADD ann 1767225603873 1767225603873","detail":"Another request had added '1767225603873', so this one left no trace and is not counted.","fix":"make each member unique, for example with an ID that the caller passes"}
{"script":"times-as-members.lua","tested":["requests at one instant, through a window of 60 s, and 3h40m30s later; two clients","retries each 12 s, 10.91 s, 8 s, 6 s, 3 s, 1 s after the limit was reached, for 480 s, of cost 1","retries each 1 ms in the last 1 s of the wait, of cost 1","retries each 1 s in the last 30 s of the wait, of cost 1","requests below a limit of 5, each 24 s, 24.99 s, 25.01 s, 29.99 s, 30.01 s, 51 s, 59.99 s, 60.01 s","requests after idle gaps of each TTL: 60 s","a client that takes just what refills, for each TTL: 60 s"],"not_tested":[]}
[2]

## several scripts
$ copy examples/pitfalls/times-as-members.lua
$ copy examples/pitfalls/records-denials.lua
$ rlctl lint times-as-members.lua records-denials.lua --args '{now_ms} {window_ms} {id}' --allowed-when '<=limit'
times-as-members.lua:23: denied-write: ZADD ann 1767225614787 1767225614787
    critical: The request was denied but still counts. A client that keeps
    trying is locked out. Of 43 requests in 469.1 s, 10.91 s apart, 0 were
    allowed; a client that waits in silence is let in after 60 s.
    Fix: count first, and write only if the request is allowed.
times-as-members.lua:23: non-unique-member: ZADD ann 1767225603873 1767225603873
    critical: Another request had added '1767225603873', so this one left no
    trace and is not counted.
    Fix: make each member unique, for example with an ID that the caller passes.
records-denials.lua:17: denied-write: ZADD ann 1767225614782 32
    critical: The request was denied but still counts. A client that keeps
    trying is locked out. Of 43 requests in 469.1 s, 10.91 s apart, 0 were
    allowed; a client that waits in silence is let in after 60 s.
    Fix: count first, and write only if the request is allowed.
3 critical findings in 2 scripts (11946 requests)
Search for requests that exceed the limit:
    rlctl burst adversary --script times-as-members.lua --limit 5/60s --args '{now_ms} {window_ms} {id}' --allowed-when '<=limit'
    rlctl burst adversary --script records-denials.lua --limit 5/60s --args '{now_ms} {window_ms} {id}' --allowed-when '<=limit'
[2]

## a program
$ write limiter.pl
< $| = 1;
< my %used;
< while (<STDIN>) {
<   %used = (), next if /"reset":true/;
<   my ($key) = /"key":"([^"]*)"/;
<   print $used{$key}++ < 5 ? qq({"allowed":true}\n) : qq({"allowed":false}\n);
< }
$ rlctl lint --exec 'perl limiter.pl'
limiter.pl: locked-out
    critical: Once the limit is reached, a client is denied forever, though it
    sends nothing. Seen: 5 of 6 allowed at 0 s, 0 of 1 at 3h40m.
    Fix: let requests leave the window when it ends.
limiter.pl: wrong-cost
    note: A request of cost 3 counts as one of cost 1. Seen: 5 of 6 of cost 3
    allowed at 0 s.
    Fix: count the cost; or use --cost 1 if there is no other.
1 critical finding, 1 note in 1 program (6492 requests)
Search for requests that exceed the limit:
    rlctl burst adversary --limit 5/60s --exec 'perl limiter.pl'
[2]

## excuses
$ write counter.lua
< -- rlctl: limit 5/60s
< -- rlctl: allow wrong-limit because a client may send one more
< local window = ARGV[2]
< local count = redis.call('INCR', KEYS[1])
< if count == 1 then
<   -- rlctl: allow mixed-units because clients are banned for days
<   redis.call('EXPIRE', KEYS[1], window)
< end
< return count <= ARGV[1] + 1 and 1 or 0
$ rlctl lint counter.lua --args '{limit} {window_ms}'
$ rlctl lint counter.lua --args '{limit} {window_ms}' --json
$ write counter.lua
< -- rlctl: allow wrong-limit because it was one more
< -- rlctl: allow wrong-wait because no wait is told
< -- rlctl: allow lost-slot because it gives no slots
< local count = redis.call('INCR', KEYS[1])
< if count == 1 then
<   -- rlctl: allow mixed-units because clients were banned for days
<   redis.call('PEXPIRE', KEYS[1], ARGV[2])
< end
< return count <= tonumber(ARGV[1]) and 1 or 0
$ rlctl lint counter.lua --args '{limit} {window_ms}'
$ write counter.lua
< -- rlctl: allow no-tll because a job removes the keys
< return redis.call('INCR', KEYS[1]) <= tonumber(ARGV[1])
$ rlctl lint counter.lua --args '{limit}'
$ write counter.lua
< -- rlctl: allow no-ttl
< return redis.call('INCR', KEYS[1]) <= tonumber(ARGV[1])
$ rlctl lint counter.lua --args '{limit}'

## a script with an error
$ write wrong.lua
< return redis.call('INCR'
$ rlctl lint wrong.lua
! rlctl: lint: wrong.lua:1: Error compiling script (new function): ')' expected (to close '(' at line 1) near '<eof>'
[3]
