# needs: server
# shellcheck disable=SC2086 # options and words are split
load ../../support/common

# What a command that rlctl runs can see. What rlctl says is in run.t, and leases are in lease.bats.

setup_file() { start_server; }
setup() {
  cli FLUSHALL
  cd "$BATS_TEST_TMPDIR" || return
}

# The key and the options of a run without a lease, and of one with it.
kinds=('k --limit 9/10m' 'lease --concurrency 1')

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
  for options in "${kinds[@]}"; do
    run -143 rlctl run $options -- sh -c 'kill -TERM $$'
    run -0 perl -e 'system @ARGV; print $? & 127' rlctl run $options -- sh -c 'kill -KILL $$'
    assert_output 9
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
  for prepared in "${prepare[@]}"; do
    seen_by $prepared env >plain
    for options in "${kinds[@]}"; do
      seen_by $prepared rlctl run $options -- env >inherited
      # Standard output is what differs.
      diff <(grep -v '^1 ' plain) <(grep -v '^1 ' inherited)
    done
  done
  grep -q '^5 ' inherited
}

@test "descriptors that were closed are closed for the command" {
  local options
  for options in "${kinds[@]}"; do
    rlctl run $options -- bash -c '[[ ! -e /proc/$$/fd/0 ]] && touch closed' <&-
    rm closed
    rlctl run $options -- bash -c '[[ ! -e /proc/$$/fd/1 && ! -e /proc/$$/fd/2 ]] && touch closed' >&- 2>&-
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
  for options in "${kinds[@]}"; do
    run -0 bash -o pipefail -c "rlctl run $options -- head -c $bytes /dev/zero | wc -c"
    assert_output "$bytes"
    run -0 rlctl run $options -- sh -c 'read -r first; echo "$first"; cat >&2' <<<$'one\ntwo'
    assert_output $'one\ntwo'
    # The reader ends first, as with `| head -n 1`.
    run -0 bash -c "rlctl run $options -- yes | head -n 1"
    assert_output y
  done
}

@test "--wait runs the command when it is allowed, and --on-error allow if nobody knows" {
  rlctl check -q k --limit 1/1500ms
  run -0 rlctl run k --limit 1/1500ms --wait -- echo ran
  assert_output ran
  local options
  for options in "${kinds[@]}"; do
    RLCTL_URL=unix:///nowhere run -0 --separate-stderr rlctl run $options --on-error allow -- echo ran
    assert_output ran
    assert_regex "$stderr" '^rlctl: run: warning: .*; taken as allowed \(--on-error\)'
  done
}

@test "leaky-bucket: the command starts after the delay" {
  rlctl check -q k --limit 1/2s --algorithm leaky-bucket --burst 2
  run -0 rlctl run k --limit 1/2s --algorithm leaky-bucket --burst 2 -- \
    rlctl inspect k --limit 1/2s --json
  # Two requests of a second and more were sent at once; when the command runs, the first is gone.
  gojq -e '(.used | type) == "number" and .used <= 1' <<<"$output" || fail "$output"
}
