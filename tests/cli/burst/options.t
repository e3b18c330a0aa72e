# needs: server
# What `rlctl burst --model` makes of its options, without any server, and what an assertion proves.

## without requests, the worst is unknown
$ rlctl burst ramp --model --duration 1us -q --assert 'worst<=1'
! rlctl: burst: assertion 'worst<=1' does not hold: fixed-window has no value, sliding-window-log has no value
[1]

## if nothing was allowed, the worst has no time and no key
$ rlctl burst --model --limit 3/60s --cost 7 gcra --json
{"pattern":"boundary",[..],"runs":[{"algorithm":"gcra","sent":2,"allowed":0,"denied":2,[..],"worst":{"allowed":0,"ratio":0,"from_us":null,"span_us":null,"key":null,[..]},"worst_keys":[],[..]}]}

## an upper bound fails where the traffic never offered more, or nothing was allowed
$ rlctl burst -q --model gcra steady --limit 10/1s --rate 5/s --assert 'worst<=1' --assert 'worst<0.6'
! rlctl: burst: assertion 'worst<=1' proves nothing about gcra: the traffic never offered more than 5 within 1s, so no limiter could exceed that; send more, or lower --limit
! rlctl: burst: assertion 'worst<0.6' proves nothing about gcra: the traffic never offered more than 5 within 1s, so no limiter could exceed that; send more, or lower --limit
[1]
$ rlctl burst -q --model fixed-window gcra steady --limit 10/1s --rate 5/s --assert 'worst<=1'
! rlctl: burst: assertion 'worst<=1' proves nothing about fixed-window, gcra: the traffic never offered more than 5 within 1s, so no limiter could exceed that; send more, or lower --limit
[1]
$ rlctl burst -q --model gcra steady --limit 10/1s --rate 5/s --assert 'worst==0.5' --assert 'worst>0.4'
$ rlctl burst -q --model gcra --limit 3/60s --cost 7 --assert 'worst<=1' --assert 'longest_delay_us<=1' --assert 'allowed==0'
! rlctl: burst: assertion 'worst<=1' proves nothing about gcra: nothing was allowed
! rlctl: burst: assertion 'longest_delay_us<=1' proves nothing about gcra: nothing was allowed
[1]
$ write calm.log
< 1767225600 a
< 1767225601 a
< 1767225602 a
$ rlctl burst -q --model --replay calm.log --limit 5/60s gcra --assert 'worst<=1'
! rlctl: burst: assertion 'worst<=1' proves nothing about gcra: the traffic never offered more than 3 within 60s, so no limiter could exceed that; send more, or lower --limit
[1]
$ rlctl burst -q --model --replay calm.log --limit 2/60s gcra --assert 'worst<=1'

## of several limits and keys, the one that is exceeded most counts
$ rlctl burst -q --model gcra --limit 100/1s --limit 10/60s steady --rate 5/s --duration 9s --assert 'worst<=2'
$ rlctl burst -q --model gcra steady --limit 10/1s --rate 5/s --keys 3 --assert 'worst<=1'
! rlctl: burst: assertion 'worst<=1' proves nothing about gcra: the traffic never offered more than 3 within 1s, so no limiter could exceed that; send more, or lower --limit
[1]

## an assertion about what did not happen or is unknown fails
$ rlctl burst -q --model gcra steady --limit 10/1s --rate 5/s --assert 'retry_after_broken==0' --assert 'retry_after_too_early_us<100'
! rlctl: burst: assertion 'retry_after_broken==0' proves nothing about gcra: no retry_after was compared
! rlctl: burst: assertion 'retry_after_too_early_us<100' proves nothing about gcra: no retry_after was compared
[1]
$ rlctl burst -q --model gcra steady --limit 10/1s --rate 5/s --assert 'denied==0' --assert 'allowed!=3' --assert 'sent==15' --assert 'keys<=1' --assert 'longest_shut_out_us==0'
$ rlctl burst --model -q gcra --assert 'bytes_per_key>0' --assert 'bytes_per_key<=0'
! rlctl: burst: assertion 'bytes_per_key>0' does not hold: gcra has no value
! rlctl: burst: assertion 'bytes_per_key<=0' does not hold: gcra has no value
[1]

## algorithms may be given together or one by one, and each counts once
$ env RLCTL_REDIS_SERVER=/nowhere
$ rlctl burst --model -q gcra fixed-window gcra token-bucket --assert 'sent<0'
! rlctl: burst: assertion 'sent<0' does not hold: gcra has 2000, fixed-window has 2000, token-bucket has 2000
[1]
$ rlctl burst --model -q gcra all --assert 'sent<0'
! rlctl: burst: assertion 'sent<0' does not hold: gcra has 2000, fixed-window has 2000, sliding-window-log has 2000, sliding-window-zset has 2000, sliding-window-counter has 2000, token-bucket has 2000, leaky-bucket has 2000, budget has 2000
[1]

## a burst applies to the algorithms that have one
$ env RLCTL_REDIS_SERVER=/nowhere
$ rlctl burst --model -q --burst 5 fixed-window gcra --assert 'allowed<0'
! rlctl: burst: assertion 'allowed<0' does not hold: fixed-window has 2000, gcra has 5
[1]

## an assertion may be about keys, and how long one was shut out
$ rlctl burst steady --model -q --limit 10/s --keys 3 gcra --assert 'keys==3' --assert 'keys_denied==3' --assert 'longest_shut_out_us>0' --assert 'retry_after_broken==0'
