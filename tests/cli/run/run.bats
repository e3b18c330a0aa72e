# needs: server
# shellcheck disable=SC2086 # options and words are split
load ../../support/common

# What a command that rlctl runs can see, and the statuses. Leases are in lease.bats.

setup_file() { start_server; }
setup() {
  cli FLUSHALL
  cd "$BATS_TEST_TMPDIR" || return
}

keys() { cli DBSIZE; }

# --- the command ------------------------------------------------------------------------------------

@test "the command gets its arguments unchanged, and its status is the status of run" {
  run -7 rlctl run k --limit 1/10m -- sh -c 'printf "<%s>" "$@"; exit 7' sh -- --limit '' 'a b' -h --json
  assert_output '<--><--limit><><a b><-h><--json>'
  run -0 rlctl inspect k --limit 1/10m
  assert_line --regexp '^used +1 of 1'
}

@test "a signal that kills the command is the end of run" {
  ulimit -c 0
  local options
  for options in '--limit 9/10m' '--concurrency 1'; do
    cli FLUSHALL
    run -143 rlctl run k $options -- sh -c 'kill -TERM $$'
    run -0 perl -e 'system @ARGV; print $? & 127' rlctl run k $options -- sh -c 'kill -KILL $$'
    assert_output 9
    cli FLUSHALL
  done
}

@test "without a lease, rlctl becomes the command" {
  run -0 sh -c 'echo $$; exec rlctl run k --limit 1/10m -- sh -c "echo \$\$"'
  assert_equal "${lines[0]}" "${lines[1]}"
}

# seen_by WORDS…: what a command that these words run can see of its process.
seen_by() {
  "$@" bash -c 'cd /proc/self/fd && for fd in *; do [[ -e $fd ]] && echo "$fd $(readlink "$fd")"; done
    grep -E "^Sig(Blk|Ign)|^(NoNewPrivs|Seccomp):" /proc/self/status; ulimit -a; env | sort
    ps -o pgid=,sid=,tty= $$' 5<"$BATS_TEST_FILENAME"
}

@test "the command inherits descriptors, signals, limits and the environment, and nothing of rlctl" {
  local options prepared
  local prepare=(
    ''
    'perl -MPOSIX -e $SIG{PIPE}="IGNORE";$SIG{HUP}="IGNORE";$SIG{CHLD}="IGNORE";sigprocmask(SIG_BLOCK,POSIX::SigSet->new(SIGUSR1,SIGTERM));exec(@ARGV)'
    'perl -e $SIG{PIPE}="DEFAULT";$SIG{INT}="IGNORE";$SIG{TSTP}="IGNORE";exec(@ARGV)'
  )
  for options in '--limit 9/10m' '--concurrency 1'; do
    cli FLUSHALL
    for prepared in "${prepare[@]}"; do
      seen_by $prepared env >plain
      seen_by $prepared rlctl run k $options -- env >inherited
      # Standard output is what differs.
      diff <(grep -v '^1 ' plain) <(grep -v '^1 ' inherited)
    done
  done
  grep -q '^5 ' inherited
}

@test "descriptors that were closed are closed for the command" {
  local options
  for options in '--limit 9/10m' '--concurrency 1'; do
    cli FLUSHALL
    rlctl run k $options -- bash -c '[[ ! -e /proc/$$/fd/0 ]] && touch closed' <&-
    rm closed
    rlctl run k $options -- bash -c '[[ ! -e /proc/$$/fd/1 && ! -e /proc/$$/fd/2 ]] && touch closed' >&- 2>&-
    rm closed
  done
}

@test "in cron's environment" {
  local cron=(env -i PATH=/usr/bin:/bin "$(command -v rlctl)" run job --url "$RLCTL_URL" --limit 1/10m --concurrency 1)
  run -3 "${cron[@]}" -- sh -c 'env | grep -v ^PWD=; echo done; exit 3' <&-
  assert_line 'done'
  assert_line PATH=/usr/bin:/bin
  run -75 "${cron[@]}" -- true <&-
  assert_output --partial "'job' has reached its limit of 1/10m; retry in "
  # Without PATH, the usual folders.
  run -0 env -i "$(command -v rlctl)" run other --url "$RLCTL_URL" --limit 9/1h --concurrency 1 -- true
}

@test "the command reads standard input and writes a lot, byte for byte" {
  local options bytes
  bytes=$(scaled $((64 << 20)) $((1 << 30)))
  for options in '--limit 9/10m' '--concurrency 1'; do
    cli FLUSHALL
    run -0 bash -o pipefail -c "rlctl run k $options -- head -c $bytes /dev/zero | wc -c"
    assert_output "$bytes"
    run -0 rlctl run k $options -- sh -c 'read -r first; echo "$first"; cat >&2' <<<$'one\ntwo'
    assert_output $'one\ntwo'
    # The reader ends first, as with `| head -n 1`.
    run -0 bash -c "rlctl run k $options -- yes | head -n 1"
    assert_output y
  done
}

# --- the command line -------------------------------------------------------------------------------

@test "wrong usage exits with 125, with --json too, and takes nothing" {
  local words
  for words in 'k -- true' 'k --limit 1/10m --' '--limit 1/10m -- true' 'a b --limit 1/10m -- true' \
    'k --limit 0/10m -- true' 'k --limti 1/10m -- true' 'k --concurrency 0 -- true' \
    'k --concurrency 1 --lease 1ms -- true' 'k --limit 1/10m --lease 9s -- true' \
    'k --limit 1/10m --kill-on-loss -- true' 'k --concurrency 1 --cost 2 -- true' \
    'k --limit 1/10m --cost 0 -- true' 'k --limit 1/10m --cost -1 -- true' \
    'k --limit 1/10m -E 256 -- true' 'k --limit 1/10m --wait 5s -- true' \
    'k --limit 1/10m --on-error maybe -- true' '--policy none -- true' \
    'k --limit 1/10m --algorithm leaky-bucket --concurrency 1 -- true' \
    'k --limit 1/10m -u private: -- true' \
    '} --limit 1/10m --concurrency 1 -- true'; do
    expect_status 125 rlctl run $words
    run -125 --separate-stderr rlctl run --json $words
    assert_output ''
    gojq -e '.error.code == "usage" or .error.code == "unsupported" or .error.code == "configuration"' <<<"$stderr" ||
      fail "$words: $stderr"
  done
  expect_status 125 rlctl --bogus run k --limit 1/10m -- true
  assert_equal "$(keys)" 0
}

@test "a command that cannot be run is reported before anything is taken" {
  echo 'echo never' >plain
  mkdir folder
  # There is not even a connection.
  export RLCTL_URL=unix:///nowhere
  run -127 rlctl run k --limit 1/10m -- no-such-command-anywhere
  assert_output "rlctl: run: cannot run 'no-such-command-anywhere': no such file or directory"
  run -127 rlctl run k --limit 1/10m -- ./no-such-file
  run -127 rlctl run k --limit 1/10m -- ''
  run -126 rlctl run k --limit 1/10m --concurrency 1 -- ./plain
  assert_output "rlctl: run: cannot run './plain': permission denied"
  run -126 rlctl run k --limit 1/10m -- ./folder
  run -126 env PATH="$PWD:$PATH" rlctl run k --limit 1/10m -- plain
  run -127 rlctl run k --limit 1/10m --json -- no-such-command-anywhere
  assert_equal "$(gojq -r .error.code <<<"$output")" not_found
}

@test "a program is found as a shell finds it" {
  mkdir one two
  printf 'echo "$0 $*"' >two/tool # no #!, as shells accept
  touch one/tool
  chmod +x two/tool
  PATH=$PWD/one:$PWD/two:$PATH run -0 rlctl run k --limit 9/10m -- tool a
  assert_output "$PWD/two/tool a"
  cd two
  PATH=:$PATH run -0 rlctl run k --limit 9/10m -- tool b
  assert_output './tool b'
  run -0 rlctl run k --limit 9/10m --concurrency 1 -- ./tool c
  assert_output './tool c'
}

@test "a command that turns out not to be executable: the lease is released" {
  printf '#!/no/such/interpreter\n' >script
  chmod +x script
  run -126 rlctl run k --concurrency 1 -- ./script
  assert_output "rlctl: run: cannot run './script': no such file or directory
  hint: the interpreter that its #! line names may be missing"
  assert_equal "$(keys)" 0
  run -126 rlctl run k --limit 1/10m -- ./script
  assert_output --partial '; the request was counted'
}

# --- answers ----------------------------------------------------------------------------------------

@test "denied: one line, status 75, and the command does not run" {
  rlctl check k --limit 2/10m --cost 2
  run -75 --separate-stderr rlctl run k --limit 2/10m -- echo ran
  assert_output ''
  [[ $stderr =~ ^"rlctl: run: denied: 'k' has reached its limit of 2/10m; retry in "[0-9.]+" s"$ ]]
  run -75 rlctl run -q k --limit 2/10m -- echo ran
  assert_output ''
  run -0 rlctl run -q -E 0 k --limit 2/10m -- echo ran
  assert_output ''
  run -255 rlctl run -q k --denied-status=255 --limit 2/10m -- echo ran
  run -75 --separate-stderr rlctl run --json k --limit 2/10m -- echo ran
  assert_output ''
  assert_equal "$(gojq -c '[.key, .allowed, .cost, .denied_by, .retry_after_us > 0]' <<<"$stderr")" '["k",false,1,"k",true]'
  run -75 rlctl run other --limit 2/10m --cost 3 -- echo ran
  assert_output "rlctl: run: denied: 'other' has reached its limit of 2/10m, which never allows a cost of 3"
}

@test "several limits are one decision, in the keys of check" {
  run -0 rlctl run k --limit 5/10m --limit 1/1h --cost 1 -- echo ran
  assert_output ran
  run -75 rlctl run k --limit 5/10m --limit 1/1h -- echo ran
  assert_output --partial 'its limit of 1/1h;'
  run -1 rlctl check k --limit 5/10m --limit 1/1h
  run -0 rlctl check k --limit 5/10m --limit 9/1h --peek
  assert_output --partial 'remaining=4'
}

@test "a policy has the limits and makes the key" {
  printf '[policy.job]\nkey = "job:%%s:%%s"\nlimit = "1/1h"\nalgorithm = "gcra"\n' >config.toml
  run -0 rlctl run --config config.toml --policy job web1 nightly -- echo ran
  assert_output ran
  run -75 rlctl run --config config.toml --policy job web1 nightly -- echo ran
  assert_output --partial "'job:web1:nightly' has reached its limit of 1/1h;"
  run -0 rlctl run --config config.toml --policy job web2 nightly --concurrency 1 -- \
    redis-cli -s "$socket" EXISTS '{job:web2:nightly}:leases'
  assert_output 1
  run -125 rlctl run --config config.toml --policy job web1 -- echo ran
}

@test "--wait runs the command when it is allowed" {
  rlctl check -q k --limit 1/1500ms
  run -0 rlctl run k --limit 1/1500ms --wait -- echo ran
  assert_output ran
  run -75 rlctl run k --limit 1/1h --wait=0s -- echo ran
  run -75 rlctl run k --limit 1/1h --wait=1s --concurrency 1 -- echo ran
  assert_output --partial 'its limit of 1/1h;'
}

@test "leaky-bucket: the command starts after the delay" {
  rlctl check -q k --limit 1/2s --algorithm leaky-bucket --burst 2
  run -0 rlctl run k --limit 1/2s --algorithm leaky-bucket --burst 2 -- \
    rlctl inspect k --limit 1/2s --algorithm leaky-bucket --json
  # Two requests of a second and more were sent at once; when the command runs, the first is gone.
  gojq -e '(.used | type) == "number" and .used <= 1' <<<"$output" || fail "$output"
}

@test "Ctrl-C ends a wait by the signal, and takes nothing" {
  rlctl check -q k --limit 1/1h
  local options
  for options in '--limit 1/1h' '--limit 1/1h --concurrency 1'; do
    cli CONFIG RESETSTAT
    run -0 ends_by INT '(($(calls evalsha) > 0)) && sleeps "$command_pid"' \
      rlctl run k $options --wait -- echo ran
    assert_output 'signal 2'
  done
  assert_equal "$(keys)" 1
}

# --- failures ---------------------------------------------------------------------------------------

@test "every failure of rlctl is status 125, and --on-error chooses the answer" {
  local options
  cli SET text value
  for options in '--limit 1/10m' '--concurrency 1'; do
    run -125 rlctl run text $options -- echo ran
    assert_output --partial "'text' holds a string, but "
    run -0 --separate-stderr rlctl run text $options --on-error allow -- echo ran
    assert_output ran
    assert_regex "$stderr" '^rlctl: run: warning: .*; taken as allowed \(--on-error\)'
    run -75 rlctl run text $options --on-error deny -- echo ran
    refute_line ran
    assert_output --partial 'taken as denied'
    RLCTL_URL=unix:///nowhere run -125 rlctl run k $options -- echo ran
    assert_output --partial 'cannot connect to unix:///nowhere'
    RLCTL_URL=unix:///nowhere run -0 rlctl run k $options --on-error allow -- echo ran
    assert_line ran
    RLCTL_URL=unix:///nowhere run -3 rlctl run k $options --on-error deny -E 3 -- echo ran
    refute_line ran
    # Wrong usage has no answer.
    run -127 rlctl run k $options --on-error allow -- no-such-command-anywhere
  done
  assert_equal "$(keys)" 1
}

@test "a user without rights, and a server that hangs" {
  cli ACL SETUSER limited on '>secret' '~*' +ping
  REDISCLI_AUTH=secret run -125 rlctl --user limited run k --limit 1/10m -- echo ran
  assert_output --partial NOPERM
  start_fake_server ''
  run -125 rlctl --timeout 100ms run k --limit 1/10m -- echo ran
  assert_output --partial '; the request may have been counted'
  run -125 rlctl --timeout 100ms run k --concurrency 1 -- echo ran
}
