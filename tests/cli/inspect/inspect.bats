# needs: server
load ../../support/common

# `rlctl inspect` on terminals; *.t has what it prints elsewhere.

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

noon=1767268800000000
# use_up KEY…: takes 10 units of 10 per 60 s, with the algorithm that the key names.
use_up() {
  local key
  for key in "$@"; do rlctl check -q "$key" --limit 10/60s --algorithm "$key" --cost 10 --now "$noon"; done
}
# in_terminal COLUMNS COMMAND
in_terminal() { TERM=xterm script -qec "stty cols $1 rows 50; $2" /dev/null </dev/null; }
plain() { sed $'s/\r$//; s/\e\\[[0-9]*m//g'; }

@test "no line is wider than the terminal, and charts fill it; in a narrow one the columns are below each other" {
  needs_terminal
  local keys=(sliding-window-log fixed-window sliding-window-counter token-bucket gcra leaky-bucket budget) columns bars line
  use_up "${keys[@]}"
  cli ZADD job -3 limit $((noon - 1)) lease:a $((noon + 60000000)) lease:b
  while read -r columns bars; do
    run -0 in_terminal "$columns" "rlctl inspect ${keys[*]} job --limit 10/60s --now $((noon + 1500000))"
    output=$(plain <<<"$output")
    while read -r line; do ((${#line} <= columns)) || fail "too wide: $line"; done <<<"$output"
    assert_regex "$output" $'\nlast 60 s  [^ \n]{'"$bars"$'}\n'
    # The first is the narrowest.
    if [[ ! ${narrow-} ]]; then local narrow=$output; fi
  done <<'END'
40 12
80 60
200 120
END
  assert_equal "$(sed -n '/^algorithm/,/^used/p; /^entries/,/^last/p; /^last/q' <<<"$narrow")" 'algorithm  sliding-window-log
           limit 10/60s
used       10 of 10
entries    10, oldest first
  2026-01-01T12:00:00.000000Z  ×10
    1.500 s ago, leaves in 58.500 s
last 60 s  ···········█'
}

@test "the progress of a long scan is shown on a terminal but not in a pipe" {
  needs_terminal
  cli EVAL 'for i = 1, 5000 do redis.call("SET", "other:" .. i, i) end' 0
  # It has sent its request and gets no answer for more than a second.
  kill -STOP "$server_pid"
  run -1 at_terminal 'wait_until eval "sleeps \$(<$BATS_TEST_TMPDIR/pid)"; sleep 1.2; kill -CONT "$server_pid"' \
    "stty cols 80; echo \$\$ >$BATS_TEST_TMPDIR/pid; exec rlctl inspect nobody"
  run -0 cat "$BATS_TEST_TMPDIR/screen"
  assert_output --regexp $'\r *[0-9]+%  of the database; [0-9]+ [a-z]+ left; Ctrl-C stops\e\\[K'
  assert_output --regexp $'\r\e\\[Knobody: not found in '"$RLCTL_URL"': the limiter is unused'
  cli CLIENT PAUSE 1300
  run -1 --separate-stderr rlctl inspect nobody
  assert_equal "$stderr" ''
}

@test "colours are used only for terminals that want them, and do not change the text" {
  needs_terminal
  use_up sliding-window-log
  local command="rlctl inspect sliding-window-log --limit 10/60s --now $noon" coloured
  run -0 in_terminal 80 "$command"
  assert_line --partial $'\e[31m10 of 10\e[0m'
  coloured=$output
  run -0 in_terminal 80 "NO_COLOR=1 $command"
  refute_output --partial $'\e'
  # The line `now` counts the minutes since then.
  assert_equal "$(plain <<<"$output" | grep -v ^now)" "$(plain <<<"$coloured" | grep -v ^now)"
  run -0 in_terminal 80 "TERM=dumb $command"
  refute_output --partial $'\e'
}
