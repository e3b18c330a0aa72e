# needs: server
# `rlctl burst --exec`: programs that answer well, and programs that misbehave; tests/support/odd_program.pl has the ways.
# Without a server in PATH, no program is given one, whose start takes longer than all else.

## answers that come late, in halves, in batches or after a slow start count
$ each WAY well late starts_late halves 'hello 1' 'hello 64' 'hello 4096' 'batches 32'
$ copy tests/support/odd_program.pl
$ without-server
$ rlctl burst steady --requests 65 -q --limit 1000/60s --exec '/usr/bin/perl odd_program.pl WAY' --assert allowed==65 --assert 'worst>0'

## what is no answer, or one too many, ends the run with status 5, and the message shows it
$ copy tests/support/odd_program.pl
$ without-server
$ rlctl burst steady --requests 100 -q --exec "/usr/bin/perl odd_program.pl first 'yes, \"sure\"'"
! rlctl: burst: perl wrote 'yes, "sure"': it is not JSON: request 1, of key '1'
!   hint: a program answers each request with one line; see rlctl-exec(7)
[5]
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl swaps'
! rlctl: burst: perl answered request 3 instead: request 2, of key '1'
!   hint: the answers must be in the order of the requests
[5]
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl megabyte'
! rlctl: burst: perl wrote a line of more than 65536 bytes: request 1, of key '1'
[5]
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl twice'
! rlctl: burst: perl wrote '1' without a request: after request 1
[5]
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl megabyte_of_lines'
! rlctl: burst: perl wrote '1' without a request: after request 1
[5]
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl once_more'
! rlctl: burst: perl wrote '1' without a request: after request 100
[5]
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl unasked'
! rlctl: burst: perl wrote '1' without a request: [..]
[5]
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl hello_late'
! rlctl: burst: perl wrote a "hello" after its first line: [..]
[5]
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl hello_twice'
! rlctl: burst: perl wrote a "hello" after its first line: [..]
[5]

## no answer within --timeout is status 3
$ each WAY never stops_reading closes_input
$ copy tests/support/odd_program.pl
$ without-server
$ rlctl burst steady --requests 100 -q --timeout 500ms --exec '/usr/bin/perl odd_program.pl WAY'
! rlctl: burst: perl has not answered within 500ms: [..]
!   hint: use a longer --timeout, or flush its output after each line
[3]

## the end of a program, or of its output, is status 5, and the message says how it ended
$ copy tests/support/odd_program.pl
$ without-server
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl exits 7'
! rlctl: burst: perl ended with status 7: request 1, of key '1'
!   hint: a program reads requests until its standard input ends; see rlctl-exec(7)
[5]
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl kills_itself'
! rlctl: burst: perl was killed by signal 9 (SIGKILL): request 2, of key '1'
!   hint: a program reads requests until its standard input ends; see rlctl-exec(7)
[5]
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl closes_output'
! rlctl: burst: perl closed its standard output: request 1, of key '1'
!   hint: a program reads requests until its standard input ends; see rlctl-exec(7)
[5]
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl no_newline'
! rlctl: burst: perl ended with status 0: request 2, of key '1'
!   hint: a program reads requests until its standard input ends; see rlctl-exec(7)
[5]
$ rlctl burst steady --requests 100 -q --exec '/usr/bin/perl odd_program.pl fails'
! rlctl: burst: perl ended with status 255: request 2, of key '1'; its standard error ends with: first line; last line
!   hint: a program reads requests until its standard input ends; see rlctl-exec(7)
[5]

## a program that cannot be run is status 2
$ write not-executable
$ write folder/file
$ rlctl burst --exec ./none
! rlctl: burst: none: cannot run './none': no such file or directory
! Try 'rlctl burst --help'.
[2]
$ rlctl burst --exec none-in-path
! rlctl: burst: none-in-path: cannot run 'none-in-path': no such file or directory
! Try 'rlctl burst --help'.
[2]
$ rlctl burst --exec './not-executable x'
! rlctl: burst: not-executable: cannot run './not-executable': permission denied
! Try 'rlctl burst --help'.
[2]
$ rlctl burst --exec ./folder
! rlctl: burst: folder: cannot run './folder': permission denied
! Try 'rlctl burst --help'.
[2]

## the end of a program under the real clock is an error, too
$ write three.pl
< $| = 1;
< <STDIN>, print "1\n" for 1 .. 3;
< die "no more\n";
$ without-server
$ rlctl burst steady --rate 100/s --duration 1s --clock real --exec '/usr/bin/perl three.pl' -q
! rlctl: burst: perl ended with status 255: [..]; its standard error ends with: no more
!   hint: a program reads requests until its standard input ends; see rlctl-exec(7)
[5]
$ rlctl burst --clock real --exec-clock wall --exec true
! rlctl: burst: --exec-clock is for the virtual clock: under the real one, all clocks agree
! Try 'rlctl burst --help'.
[2]

## without a server on this machine, a program runs without one
$ write asks.sh
< while read -r line; do echo ${RLCTL_REDIS_URL:+0}${RLCTL_REDIS_URL:-1}; done
$ without-server
$ rlctl burst --limit 3/60s -q --exec '/bin/sh asks.sh' --assert allowed==6

## a reset comes before each further schedule, and the numbers begin anew
$ write counts.pl
< $| = 1;
< my ($id, $resets) = (0, 0);
< while (<STDIN>) {
<   if (/"reset":true/) {
<     ($id, $resets) = (0, $resets + 1);
<     if ($resets == 11) { open my $file, '>', 'resets'; print $file "more than ten\n" }
<     next;
<   }
<   /"id":(\d+)/ && $1 == ++$id or die "wrong after $resets resets: $_";
<   print "1\n";
< }
$ without-server
$ rlctl adversary --tries 200 --limit 1/60s -q --exec '/usr/bin/perl counts.pl'
$ cat resets
more than ten

## a program is compared with other limiters, and the first request that they decide differently is named
$ copy tests/limiters/fixed-window.pl
$ without-server
$ rlctl burst -q --exec '/usr/bin/perl fixed-window.pl' --compare fixed-window --model --limit 100/60s
$ rlctl burst -q --exec '/usr/bin/perl fixed-window.pl' --compare sliding-window-log --model --limit 100/60s
! rlctl: burst: the limiters differ, first at request 101 (key '1'): perl allows it, sliding-window-log denies it
[1]

## what is found in a program is written, with the commands that replay and repeat it
$ copy tests/limiters/fixed-window.pl
$ without-server
$ rlctl adversary --limit 5/60s --tries 500 --seed 1 --exec '/usr/bin/perl fixed-window.pl' --write worst.log -q --assert worst==2
$ cat worst.log
# rlctl burst --limit 5/60s --exec '/usr/bin/perl fixed-window.pl' --replay worst.log
# rlctl adversary --limit 5/60s --exec '/usr/bin/perl fixed-window.pl' --tries 500 --seed 1
# perl: 10 allowed within 10 s, 0 of 10 requests wrongly denied
1767225650 1 1
1767225650 1 1
1767225650 1 1
1767225650 1 1
1767225650 1 1
1767225660 1 1
1767225660 1 1
1767225660 1 1
1767225660 1 1
1767225660 1 1
$ rlctl burst --replay worst.log --exec '/usr/bin/perl fixed-window.pl' --limit 5/60s -q --assert worst==2

## a correct log never exceeds its limit, and tells no wrong figure
$ copy tests/limiters/figures.pl
$ without-server
$ rlctl adversary --exec '/usr/bin/perl figures.pl' --limit 2/60s --tries 2000 -q --assert 'worst<=1' --assert wrongly_denied==0 --assert 'most_stepping_back<=1'
$ rlctl adversary --exec '/usr/bin/perl figures.pl' --limit 2/60s --exhaustive 3 -q --assert worst==1 --assert wrongly_denied==0
$ rlctl burst poisson --exec '/usr/bin/perl figures.pl' --limit 20/s --keys 3 -q --assert retry_after_broken==0 --assert remaining_too_many==0

## what a program says remains is compared with what it has left
$ write proud.pl
< $| = 1;
< print qq({"allowed":true,"remaining":7,"reset_after_us":1}\n) while <STDIN>;
$ without-server
$ rlctl burst steady --requests 3 --rate 1/s --limit 5/60s --exec '/usr/bin/perl proud.pl' -q --assert remaining_too_many==5 --assert reset_after_too_early_us==59999999

## a limiter by chance, or one that ignores resets, is no finding, but an error
$ write chance.pl
< $| = 1;
< while (<STDIN>) { print int(rand 2), "\n" if !/"reset"/ }
$ write forever.pl
< $| = 1;
< my $count = 0;
< while (<STDIN>) { print ++$count <= 5 ? "1\n" : "0\n" if !/"reset"/ }
$ without-server
$ rlctl adversary --exec '/usr/bin/perl chance.pl' --tries 500 -q
! rlctl: adversary: the limiter gave different answers to the same schedule, so the search cannot rely on it
!   hint: it may use a clock of its own, random numbers, or state from before the reset
[2]
$ rlctl adversary --exec '/usr/bin/perl forever.pl' --tries 500 -q
! rlctl: adversary: the limiter gave different answers to the same schedule, so the search cannot rely on it
!   hint: it may use a clock of its own, random numbers, or state from before the reset
[2]

## programs, scripts and algorithms are compared in one report, each under a name of its own
$ copy tests/limiters/fixed-window.pl
$ write other/fixed-window.pl
< $| = 1;
< while (<STDIN>) { print "0\n" if !/"reset"/ }
$ write count.lua
< return redis.call('INCR', KEYS[1])
$ rlctl burst --limit 3/60s -q --exec 'perl fixed-window.pl' --exec 'perl other/fixed-window.pl' --exec 'perl fixed-window.pl' count.lua --keys '{key}:{window_index}' --allowed-when '<=limit' gcra --assert 'allowed<0'
! rlctl: burst: assertion 'allowed<0' does not hold: count.lua has 6, perl fixed-window.pl has 6, perl other/fixed-window.pl has 0, gcra has 3
[1]

## a program of the configuration runs in the configuration's folder, under its name
$ write configured/none.pl
< $| = 1;
< while (<STDIN>) { print "0\n" if !/"reset"/ }
$ write configured/config.toml
< timeout = "120s"
< [script.mine]
< exec = "/usr/bin/perl 'none.pl'"
< [script.gone]
< exec = "./none"
$ without-server
$ rlctl --config configured/config.toml burst --limit 100/60s mine -q --assert 'allowed>0'
! rlctl: burst: assertion 'allowed>0' does not hold: mine has 0
[1]
$ rlctl --config configured/config.toml burst --limit 100/60s gone
! rlctl: burst: gone: cannot run './none': no such file or directory
! Try 'rlctl burst --help'.
[2]
$ rlctl --config configured/config.toml burst --limit 100/60s mine --args x
! rlctl: burst: --args is for a script in Lua, but 'mine' is a program
! Try 'rlctl burst --help'.
[2]
$ rlctl --config configured/config.toml burst --limit 100/60s mine --allowed-when r
! rlctl: burst: --allowed-when is for a script in Lua, but 'mine' is a program
! Try 'rlctl burst --help'.
[2]
$ rlctl --config configured/config.toml debug mine
! rlctl: debug: 'mine' is a program, but only a script in Lua will do
!   hint: rlctl burst and lint ask programs
[2]

## the Redis server of a program has the time of its requests, to the last millisecond of a key, whatever server the user has
$ write counter.sh
< while read -r line; do
<   case $line in *reset*) continue ;; esac
<   count=$(redis-cli --no-auth-warning -u "$RLCTL_REDIS_URL" INCR requests)
<   if [ "$count" = 1 ]; then redis-cli --no-auth-warning -u "$RLCTL_REDIS_URL" PEXPIRE requests 10000 >&2; fi
<   if [ "$count" -le 3 ]; then echo 1; else echo 0; fi
< done
$ write requests.log
< 100 k
< 101 k
< 105 k
< 109.999 k
< 110 k
< 110.002 k
$ env RLCTL_REDIS_URL=redis://127.0.0.1:1
$ rlctl burst --replay requests.log --limit 3/10s --exec 'sh counter.sh' -q -o decisions.jsonl
$ cat decisions.jsonl
{"algorithm":"counter.sh","at_us":100000000,"key":"k","cost":1,"allowed":true,"remaining":null,"retry_after_us":0,"reset_after_us":null,"delay_us":0,"request":1,"denied_by":null}
{"algorithm":"counter.sh","at_us":101000000,"key":"k","cost":1,"allowed":true,"remaining":null,"retry_after_us":0,"reset_after_us":null,"delay_us":0,"request":2,"denied_by":null}
{"algorithm":"counter.sh","at_us":105000000,"key":"k","cost":1,"allowed":true,"remaining":null,"retry_after_us":0,"reset_after_us":null,"delay_us":0,"request":3,"denied_by":null}
{"algorithm":"counter.sh","at_us":109999000,"key":"k","cost":1,"allowed":false,"remaining":null,"retry_after_us":null,"reset_after_us":null,"delay_us":0,"request":4,"denied_by":null}
{"algorithm":"counter.sh","at_us":110000000,"key":"k","cost":1,"allowed":false,"remaining":null,"retry_after_us":null,"reset_after_us":null,"delay_us":0,"request":5,"denied_by":null}
{"algorithm":"counter.sh","at_us":110002000,"key":"k","cost":1,"allowed":true,"remaining":null,"retry_after_us":0,"reset_after_us":null,"delay_us":0,"request":6,"denied_by":null}

## --exec-clock gives a program the time of each request as its own
$ copy tests/limiters/own-clock.pl
$ without-server
$ rlctl burst poisson --keys 3 --limit 5/10s --duration 500s --compare fixed-window --model -q --exec '/usr/bin/perl own-clock.pl' --exec-clock wall --assert 'sent>500'
$ rlctl burst poisson --keys 3 --limit 5/10s --duration 500s --compare fixed-window --model -q --exec '/usr/bin/perl own-clock.pl monotonic' --exec-clock all --assert 'sent>500'
$ rlctl burst poisson --keys 3 --limit 5/10s --duration 500s --compare fixed-window --model -q --exec '/usr/bin/perl own-clock.pl'
! rlctl: burst: the limiters differ, first at request [..]
[1]
$ rlctl burst poisson --keys 3 --limit 5/10s --duration 500s --compare fixed-window --model -q --exec '/usr/bin/perl own-clock.pl monotonic' --exec-clock wall
! rlctl: burst: the limiters differ, first at request [..]
[1]
