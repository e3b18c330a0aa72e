# needs: server
load ../../support/common

# `rlctl inspect --watch`: on a terminal and in a pipe.

setup() {
  start_server
  rlctl check -q k --limit 5/60s --cost 3
}

# watch_in_terminal KEYS COMMAND: at_terminal with 60 columns and 12 lines; KEYS are typed once it has started
# to draw.
watch_in_terminal() {
  TERM=xterm at_terminal "wait_until grep -q 'Ctrl-C ends' \"\$screen\"; $1" "stty cols 60 rows 12; $2"
}

@test "the screen is redrawn, and Ctrl-C restores the terminal and ends by the signal" {
  needs_terminal
  run -130 watch_in_terminal \
    'rlctl check -q k --limit 5/60s; wait_until grep -q "4 of 5" "$screen"; printf "\003"' \
    'rlctl inspect k --limit 5/60s --watch=100ms'
  run -0 cat -v "$BATS_TEST_TMPDIR/screen"
  # The alternate screen without a cursor, drawn from its upper left corner; nothing scrolls.
  assert_output --partial '^[[?1049h^[[?25l^[[H'
  assert_output --partial 'every 100ms, 20'
  assert_output --partial '3 of 5'
  (($(grep -o '\^\[\[H' <<<"$output" | wc -l) >= 2))
  # Then the original screen, with the last text on it.
  run -0 sed $'s/.*\e\\[?25h\e\\[?1049l/restored /; s/\r$//; s/\e\\[[0-9]*m//g' "$BATS_TEST_TMPDIR/screen"
  assert_line --regexp '^restored key        k( |$)'
  local last
  last=$(sed -n '/^restored/,$p' <<<"$output")
  grep -q '4 of 5' <<<"$last"
}

@test "lines are cut to the width of the screen, and the text to its height" {
  needs_terminal
  local key
  key=$(printf 'k%.0s' {1..200})
  rlctl check -q "$key" --limit 50/60s --cost 50
  run -130 watch_in_terminal 'printf "\003"' \
    "rlctl inspect $key $key $key --limit 50/60s --watch"
  local frame
  frame=$(sed $'s/\e\\[?25h.*/\\n@/' "$BATS_TEST_TMPDIR/screen" | sed -n '1,/@/p' | grep -v @ | tr -d '\r' |
    sed $'s/\e\\[[?0-9;]*[a-zA-Z]//g')
  local line
  while read -r line; do ((${#line} <= 60)) || fail "too wide: $line"; done <<<"$frame"
  # The last frame, because there may be earlier ones.
  assert_equal "$(awk '/Ctrl-C ends/ { n = 0 } { n++ } END { print n }' <<<"$frame")" 12
}

@test "the screen shows as many entries as fit, or as were requested" {
  needs_terminal
  sleep 0.01
  rlctl check -q k --limit 5/60s
  run -130 watch_in_terminal 'printf "\003"' \
    'stty cols 80 rows 8; rlctl inspect k --limit 5/60s --watch'
  run -1 grep -c ' ago' "$BATS_TEST_TMPDIR/screen"
  run -130 watch_in_terminal 'printf "\003"' \
    'stty cols 80 rows 8; rlctl inspect k --limit 5/60s --watch --entries 1'
  grep -q ' ago' "$BATS_TEST_TMPDIR/screen"
  run -130 watch_in_terminal 'printf "\003"' \
    'stty cols 80 rows 11; rlctl inspect k --limit 5/60s --watch'
  # Two in total, each in both the last frame and the text printed at the end.
  assert_equal "$(sed $'1,/\e\\[?1049l/d' "$BATS_TEST_TMPDIR/screen" | grep -c ' ago')" 2
}

@test "with several keys every key is on the screen, with fewer entries each" {
  needs_terminal
  for _ in {1..8}; do
    rlctl check -q many --limit 50/40s --limit 100/60s --limit 1000/h
  done
  run -130 watch_in_terminal 'printf "\003"' \
    'stty cols 80 rows 24; rlctl inspect many --watch'
  # The first frame, before the alternate screen is left.
  run -0 sed $'/\e\\[?1049l/,$d' "$BATS_TEST_TMPDIR/screen"
  assert_output --partial '{many}:40s'
  assert_output --partial '{many}:60s'
  assert_output --partial '{many}:3600s'
  assert_output --partial 'last ~1 h'
}

@test "SIGTERM and Ctrl-backslash restore the terminal too, and end by the signal" {
  needs_terminal
  local keys status
  while read -r status keys; do
    run "-$status" watch_in_terminal "$keys" \
      "ulimit -c 0; echo \$\$ >$BATS_TEST_TMPDIR/pid; exec rlctl inspect k --watch=100ms"
    grep -q $'\e\\[?25h\e\\[?1049l' "$BATS_TEST_TMPDIR/screen"
  done <<'END'
143 kill -TERM "$(cat "$BATS_TEST_TMPDIR/pid")"
131 printf "\034"
END
}

@test "Ctrl-Z leaves the screen and stops; fg returns to it and redraws it" {
  needs_terminal
  # Only a shell with job control continues when its job is stopped.
  run -130 watch_in_terminal \
    'printf "\032"; wait_until grep -q "^stopped 148" "$screen"
     rlctl check -q k --limit 5/60s
     cli SET go on; wait_until grep -q "4 of 5" "$screen"; printf "\003"' \
    'exec bash -mc "rlctl inspect k --limit 5/60s --watch=1h; echo stopped \$?
       until [[ \$(redis-cli -s \$socket GET go) ]]; do sleep 0.05; done; fg"'
  run -0 sed $'s/\e\\[[0-9]*m//g; s/\r$//' "$BATS_TEST_TMPDIR/screen"
  # On the screen, off it, on it again, where it is redrawn from the upper left corner, and off again.
  local left=$'\e[?25h\e[?1049l' entered=$'\e[?1049h\e[?25l'
  assert_output --partial "$left"
  assert_equal "$(tr -d '\n' <<<"$output" | grep -oE $'\e\\[\\?1049[hl]|stopped 148|3 of 5|4 of 5' | tr '\n' ' ')" \
    $'\e[?1049h 3 of 5 \e[?1049l stopped 148 \e[?1049h 4 of 5 \e[?1049l 4 of 5 '
  grep -qF "$entered"$'\e[H' <<<"$output"
}

two_texts() { (($(grep -c '^key  ' "$1") >= 2)); }

# watch_plainly TERM: runs until $screen has two texts, in a terminal of this name.
watch_plainly() {
  TERM=$1 at_terminal 'wait_until two_texts "$screen"; printf "\003"' 'rlctl inspect k --limit 5/60s --watch=100ms'
}

@test "a terminal without escape sequences gets one text after another, like a pipe" {
  needs_terminal
  local term
  for term in dumb ''; do
    run -130 watch_plainly "$term"
    two_texts "$BATS_TEST_TMPDIR/screen"
    run -1 grep $'\e' "$BATS_TEST_TMPDIR/screen"
    grep -q '3 of 5' "$BATS_TEST_TMPDIR/screen"
  done
}

@test "a lost server is reported on the screen, the cause first and whole, and retried" {
  needs_terminal
  run -130 watch_in_terminal 'stop_servers; wait_until grep -q "trying again" "$screen"; printf "\003"' \
    'rlctl inspect k --watch=100ms'
  # In lines of 60 columns, from the upper left corner.
  run -0 sed $'s/\e\\[?25h\e\\[?1049l.*//' "$BATS_TEST_TMPDIR/screen"
  output=$(tr -d '\r\n' <<<"${output##*$'\e[H'}" | sed $'s/\e\\[[0-9;]*[a-zA-Z]//g')
  assert_regex "$output" "^cannot connect to $RLCTL_URL: connection refused; no answer at .*, trying again *key "
  # It stays above the last text.
  run -0 sed -n $'s/.*\e\\[?25h\e\\[?1049l//; t all; b; :all; N; $!b all; p' "$BATS_TEST_TMPDIR/screen"
  output=$(tr -d '\r\n' <<<"$output" | sed $'s/\e\\[[0-9;]*[a-zA-Z]//g')
  assert_regex "$output" "^cannot connect to $RLCTL_URL: connection refused; no answer at .*, trying again *key "
}

@test "a pipe gets one text after another, separated by empty lines" {
  local texts=$BATS_TEST_TMPDIR/texts
  bound rlctl inspect k --limit 5/60s --watch=100ms --entries 0 >"$texts" 3>&- &
  local pid=$!
  wait_until eval '(($(grep -c "^key  " "$texts") >= 3))'
  kill -TERM "$pid"
  wait "$pid" || (($? == 143))
  run -1 grep $'\e' "$texts"
  assert_equal "$(grep -c '^$' "$texts")" "$(($(grep -c '^key  ' "$texts") - 1))"
  run -0 sed -n '/^$/{n;p;q}' "$texts"
  assert_output --partial 'key  '
}

@test "--json prints one line each time and flushes it, even while a key appears and disappears" {
  bound rlctl inspect comes --json --watch=100ms >"$BATS_TEST_TMPDIR/lines" 3>&- &
  local pid=$!
  wait_until test -s "$BATS_TEST_TMPDIR/lines"
  rlctl check -q comes --limit 5/60s
  wait_until grep -q '"type":"list"' "$BATS_TEST_TMPDIR/lines"
  cli DEL comes
  wait_until eval 'tail -n 1 "$BATS_TEST_TMPDIR/lines" | grep -q "\"type\":\"none\""'
  kill -TERM "$pid"
  wait "$pid" || (($? == 143))
  gojq -e .now_us "$BATS_TEST_TMPDIR/lines" >/dev/null
}

@test "in a pipe a lost server is reported once and retried until it answers" {
  bound rlctl inspect k --json --watch=100ms >"$BATS_TEST_TMPDIR/lines" 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
  local pid=$! port_socket=$socket
  wait_until test -s "$BATS_TEST_TMPDIR/lines"
  stop_servers
  wait_until test -s "$BATS_TEST_TMPDIR/errors"
  assert_equal "$(<"$BATS_TEST_TMPDIR/errors")" \
    '{"error":{"code":"unreachable","message":"cannot connect to '"$RLCTL_URL"': connection refused","hint":null}}'
  sleep 0.3
  start_server
  ln -sfn "$socket" "$port_socket"
  wait_until eval 'tail -n 1 "$BATS_TEST_TMPDIR/lines" | grep -q "\"type\":\"none\""'
  kill -TERM "$pid"
  wait "$pid" || (($? == 143))
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/errors")" 1
}

@test "a server that is missing at the start is an error, and nothing is watched" {
  stop_servers
  run_with_timeout -3 rlctl inspect k --watch
  assert_output --partial 'cannot connect'
}

@test "a server that refuses a command ends the watch" {
  bound rlctl inspect k --json --watch=100ms >"$BATS_TEST_TMPDIR/lines" 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
  local pid=$! status=0
  wait_until test -s "$BATS_TEST_TMPDIR/lines"
  cli ACL SETUSER default -pttl
  wait "$pid" || status=$?
  assert_equal "$status" 4
  grep -q NOPERM "$BATS_TEST_TMPDIR/errors"
}

@test "a reader that exits ends the watch" {
  run_with_timeout -0 bash -c 'rlctl inspect k --watch=100ms | head -n 1; echo "${PIPESTATUS[0]}"'
  assert_line 141
}
