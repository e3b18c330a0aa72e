# needs: server
# Each report of lint as a whole.

## a script without a finding, with what was tried
$ copy examples/prove-your-limiter/limiter.lua
$ rlctl lint limiter.lua --args '{limit} {window_ms}'
no findings in 1 script ([..] requests)
Tested:
    requests at one instant, through a window of 60 s, and 3h40m30s later;
        two clients
    retries each 12 s, 10.91 s, 8 s, 6 s, 3 s, 1 s after the limit was
        reached, for 480 s, of cost 1
    retries each 1 ms in the last 1 s of the wait, of cost 1
    retries each 1 s in the last 30 s of the wait, of cost 1
    requests below a limit of 5, each 24 s, 24.99 s, 25.01 s, 29.99 s,
        30.01 s, 51 s, 51.85 s, 59.99 s, 60.01 s
    requests after idle gaps of each TTL: 61 s
    a client that takes just what refills, for each TTL: 61 s
    one request more than the limit at one instant
    clients that ask slightly more often than what refills, and far more
        often
    a client that asks for slightly less than the limit
    a second client after one that has reached the limit
    a client that asks slightly more often than the limit allows, for 20m:
        whether keys or calls grow
Search for requests that exceed the limit:
    rlctl adversary limiter.lua --limit 5/60s --args '{limit} {window_ms}'
$ rlctl lint limiter.lua --args '{limit} {window_ms}' --json
{"script":"limiter.lua","tested":["requests at one instant, through a window of 60 s, and 3h40m30s later; two clients","retries each 12 s, 10.91 s, 8 s, 6 s, 3 s, 1 s after the limit was reached, for 480 s, of cost 1","retries each 1 ms in the last 1 s of the wait, of cost 1","retries each 1 s in the last 30 s of the wait, of cost 1","requests below a limit of 5, each 24 s, 24.99 s, 25.01 s, 29.99 s, 30.01 s, 51 s, 51.85 s, 59.99 s, 60.01 s","requests after idle gaps of each TTL: 61 s","a client that takes just what refills, for each TTL: 61 s","one request more than the limit at one instant","clients that ask slightly more often than what refills, and far more often","a client that asks for slightly less than the limit","a second client after one that has reached the limit","a client that asks slightly more often than the limit allows, for 20m: whether keys or calls grow"],"not_tested":[]}

## scripts with findings
$ copy examples/pitfalls/times-as-members.lua
$ copy examples/pitfalls/records-denials.lua
$ rlctl lint times-as-members.lua records-denials.lua --args '{now_ms} {window_ms} {id}' --allowed-when '<=limit'
times-as-members.lua:25: critical: denied-write: ZADD ann 1767225614787 17672...
    The request was denied but still counts. A client that keeps trying is
    locked out. Of 43 requests in 469.1 s, 10.91 s apart, 0 were allowed; a
    client that waits in silence is let in after 60 s.
    Fix: count first, and write only if the request is allowed.
times-as-members.lua:25: critical: non-unique-member: ZADD ann 1767225603873 1767...
    Another request had added '1767225603873', so this one left no trace and is
    not counted.
    Fix: make each member unique, for example with an ID that the caller passes.
records-denials.lua:19: critical: denied-write: ZADD ann 1767225614782 32
    The request was denied but still counts. A client that keeps trying is
    locked out. Of 43 requests in 469.1 s, 10.91 s apart, 0 were allowed; a
    client that waits in silence is let in after 60 s.
    Fix: count first, and write only if the request is allowed.
3 critical findings in 2 scripts ([..] requests)
Search for requests that exceed the limit:
    rlctl adversary times-as-members.lua --limit 5/60s --args '{now_ms} {window_ms} {id}' --allowed-when '<=limit'
    rlctl adversary records-denials.lua --limit 5/60s --args '{now_ms} {window_ms} {id}' --allowed-when '<=limit'
! rlctl: lint: warning: times-as-members.lua: not tested: a second client, clocks that are ahead, costs: at one instant, all requests were allowed
[2]
$ rlctl lint times-as-members.lua records-denials.lua --args '{now_ms} {window_ms} {id}' --allowed-when '<=limit' --json
{"finding":"denied-write","severity":"critical","script":"times-as-members.lua","line":25,"call":"ZADD ann 1767225614787 1767225614787","detail":"The request was denied but still counts. A client that keeps trying is locked out. Of 43 requests in 469.1 s, 10.91 s apart, 0 were allowed; a client that waits in silence is let in after 60 s.","fix":"count first, and write only if the request is allowed"}
{"finding":"non-unique-member","severity":"critical","script":"times-as-members.lua","line":25,"call":"ZADD ann 1767225603873 1767225603873","detail":"Another request had added '1767225603873', so this one left no trace and is not counted.","fix":"make each member unique, for example with an ID that the caller passes"}
{"script":"times-as-members.lua","tested":["requests at one instant, through a window of 60 s, and 3h40m30s later; two clients","retries each 12 s, 10.91 s, 8 s, 6 s, 3 s, 1 s after the limit was reached, for 480 s, of cost 1","retries each 1 ms in the last 1 s of the wait, of cost 1","retries each 1 s in the last 30 s of the wait, of cost 1","requests below a limit of 5, each 24 s, 24.99 s, 25.01 s, 29.99 s, 30.01 s, 51 s, 59.99 s, 60.01 s","requests after idle gaps of each TTL: 60 s","a client that takes just what refills, for each TTL: 60 s","a client that asks slightly more often than the limit allows, for 20m: whether keys or calls grow"],"not_tested":[{"what":"a second client, clocks that are ahead, costs","why":"at one instant, all requests were allowed"}]}
{"finding":"denied-write","severity":"critical","script":"records-denials.lua","line":19,"call":"ZADD ann 1767225614782 32","detail":"The request was denied but still counts. A client that keeps trying is locked out. Of 43 requests in 469.1 s, 10.91 s apart, 0 were allowed; a client that waits in silence is let in after 60 s.","fix":"count first, and write only if the request is allowed"}
{"script":"records-denials.lua","tested":["requests at one instant, through a window of 60 s, and 3h40m30s later; two clients","retries each 12 s, 10.91 s, 8 s, 6 s, 3 s, 1 s after the limit was reached, for 480 s, of cost 1","retries each 1 ms in the last 1 s of the wait, of cost 1","retries each 1 s in the last 30 s of the wait, of cost 1","requests below a limit of 5, each 24 s, 24.99 s, 25.01 s, 29.99 s, 30.01 s, 51 s, 59.99 s, 60.01 s","requests after idle gaps of each TTL: 60 s","a client that takes just what refills, for each TTL: 60 s","clients that ask slightly more often than what refills, and far more often","a second client after one that has reached the limit","a request whose clock is ahead by a second, a window, an hour","a client that asks slightly more often than the limit allows, for 20m: whether keys or calls grow"],"not_tested":[]}
! rlctl: lint: warning: times-as-members.lua: not tested: a second client, clocks that are ahead, costs: at one instant, all requests were allowed
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
$ rlctl lint --exec 'perl ./limiter.pl'
./limiter.pl: critical: locked-out: Once the limit is reached, a client is still denied after the longest pause that was tried
    Seen: 5 of 6 allowed at 0 s, 0 of 1 at 3h40m.
    Fix: let requests leave the window when it ends.
./limiter.pl: note: ignored-cost: A request of cost 3 counts as cost 1
    Seen: 5 of 6 of cost 3 allowed at 0 s.
    Fix: count the cost; or use --head 'cost 1' if there is no other.
1 critical finding, 1 note in 1 program ([..] requests)
Search for requests that exceed the limit:
    rlctl adversary --limit 5/60s --exec 'perl ./limiter.pl'
[2]

## findings that a comment excuses
$ copy tests/limiters/excused.lua
$ rlctl lint excused.lua --args '{now_us} {window_us} {limit} {id}' --json
{"finding":"denied-write","severity":"critical","script":"excused.lua","line":17,"call":"ZADD ann 1767225611873457 35","detail":"The request was denied but still counts. A client that keeps trying is locked out. Of 60 requests in 480 s, 8 s apart, 0 were allowed; a client that waits in silence is let in after 60 s.","fix":"count first, and write only if the request is allowed","excused":"whoever keeps trying stays out"}
{"finding":"wrong-limit","severity":"critical","script":"excused.lua","schedule":"6 of 7 allowed at 0 s","detail":"6 requests were allowed at one instant, not 5.","fix":"deny what would make more than the limit, and count the first request as well","excused":"clients may send one more"}
{"script":"excused.lua","tested":["requests at one instant, through a window of 60 s, and 3h40m30s later; two clients","retries each 12 s, 10.91 s, 8 s, 6 s, 3 s, 1 s after the limit was reached, for 480 s, of cost 1","retries each 1 ms in the last 1 s of the wait, of cost 1","retries each 1 s in the last 30 s of the wait, of cost 1","requests below a limit of 5, each 24 s, 24.99 s, 25.01 s, 29.99 s, 30.01 s, 51 s, 59.99 s, 60.01 s","requests after idle gaps of each TTL: 60 s","a client that takes just what refills, for each TTL: 60 s","one request more than the limit at one instant","clients that ask slightly more often than what refills, and far more often","a second client after one that has reached the limit","a request whose clock is ahead by a second, a window, an hour","a client that asks slightly more often than the limit allows, for 20m: whether keys or calls grow"],"not_tested":[]}

## excuses that meet nothing, of kinds that were looked for
$ write counter.lua
< -- rlctl: allow wrong-limit because it was one more
< -- rlctl: allow wrong-wait because no wait is told
< -- rlctl: allow leaked-slot because it gives no slots
< local count = redis.call('INCR', KEYS[1])
< if count == 1 then
<   -- rlctl: allow mixed-units because clients were banned for days
<   redis.call('PEXPIRE', KEYS[1], ARGV[2])
< end
< return count <= tonumber(ARGV[1]) and 1 or 0
$ rlctl lint counter.lua --args '{limit} {window_ms}'
counter.lua:1: warning: unused-excuse: allow wrong-limit
    Nothing of this kind was found in line 4, or without a line.
    Fix: remove the comment, or put it right before the line of the call.
counter.lua:6: warning: unused-excuse: allow mixed-units
    Nothing of this kind was found in line 7.
    Fix: remove the comment, or put it right before the line of the call.
2 warnings in 1 script ([..] requests)
Search for requests that exceed the limit:
    rlctl adversary counter.lua --limit 5/60s --args '{limit} {window_ms}'
[1]

## excuses that are not understood
$ write counter.lua
< -- rlctl: allow no-tll because a job removes the keys
< return redis.call('INCR', KEYS[1]) <= tonumber(ARGV[1])
$ rlctl lint counter.lua --args '{limit}'
! rlctl: lint: counter.lua:1: unknown finding 'no-tll'; did you mean 'no-ttl'?
!   hint: 'rlctl lint --help' lists the findings
[3]
$ write counter.lua
< -- rlctl: allow no-ttl
< return redis.call('INCR', KEYS[1]) <= tonumber(ARGV[1])
$ rlctl lint counter.lua --args '{limit}' --json
! {"error":{"code":"input","message":"counter.lua:1: the excuse for no-ttl has no reason","hint":"-- rlctl: allow no-ttl because ..."}}
[3]

## a script with an error
$ write wrong.lua
< return redis.call('INCR'
$ rlctl lint wrong.lua
! rlctl: lint: wrong.lua:1: Error compiling script (new function): ')' expected (to close '(' at line 1) near '<eof>'
[3]
