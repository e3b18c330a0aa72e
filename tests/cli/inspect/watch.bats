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
# watch_until_ctrl_c COMMAND: the same, and Ctrl-C at once.
watch_until_ctrl_c() { run -130 watch_in_terminal 'printf "\003"' "$1"; }

# frames: what was on the screen, without escape sequences; remains: the text that stays.
frames() { sed $'s/\e\\[?25h.*/\\n@/' "$BATS_TEST_TMPDIR/screen" | sed -n '1,/@/p' | grep -v @ | uncoloured; }
remains() { sed $'1,/\e\\[?1049l/{/\e\\[?1049l/!d; s/.*\e\\[?1049l//}' "$BATS_TEST_TMPDIR/screen" | uncoloured; }
uncoloured() { tr -d '\r' | sed $'s/\e\\[[?0-9;]*[a-zA-Z]//g'; }

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
  assert_output --partial '^[[?25h^[[?1049l'
  # Then the original screen, with the last text on it.
  run -0 remains
  assert_line --index 0 --regexp '^key        k$'
  assert_output --partial '4 of 5'
}

@test "lines are cut to the width of the screen, and the text to its height" {
  needs_terminal
  local key line frame
  key=$(printf 'k%.0s' {1..200})
  rlctl check -q "$key" --limit 50/60s --cost 50
  watch_until_ctrl_c "rlctl inspect $key $key $key --limit 50/60s --watch"
  frame=$(frames)
  while read -r line; do ((${#line} <= 60)) || fail "too wide: $line"; done <<<"$frame"
  # The last frame, because there may be earlier ones.
  assert_equal "$(awk '/Ctrl-C ends/ { n = 0 } { n++ } END { print n }' <<<"$frame")" 12
}

@test "the screen shows as many entries as fit, or as were requested" {
  needs_terminal
  sleep 0.01
  rlctl check -q k --limit 5/60s
  local size options entries
  while IFS='|' read -r size options entries; do
    watch_until_ctrl_c "stty cols 80 rows $size; rlctl inspect k --limit 5/60s --watch $options"
    assert_equal "$(remains | grep -c ' ago')" "$entries"
  done <<'END'
8||0
8|--entries 1|1
11||2
END
}

@test "with several keys every key is on the screen, with fewer entries each" {
  needs_terminal
  for _ in {1..8}; do
    rlctl check -q many --limit 50/40s --limit 100/60s --limit 1000/h
  done
  watch_until_ctrl_c 'stty cols 80 rows 24; rlctl inspect many --watch'
  run -0 frames
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
  assert_output --partial $'\e[?25h\e[?1049l'
  assert_equal "$(tr -d '\n' <<<"$output" | grep -oE $'\e\\[\\?1049[hl]|stopped 148|3 of 5|4 of 5' | tr '\n' ' ')" \
    $'\e[?1049h 3 of 5 \e[?1049l stopped 148 \e[?1049h 4 of 5 \e[?1049l 4 of 5 '
  grep -qF $'\e[?1049h\e[?25l\e[H' <<<"$output"
}

two_texts() { (($(grep -c '^key  ' "$1") >= 2)); }

@test "a terminal without escape sequences gets one text after another, like a pipe" {
  needs_terminal
  local term
  for term in dumb ''; do
    TERM=$term run -130 at_terminal 'wait_until two_texts "$screen"; printf "\003"' \
      'rlctl inspect k --limit 5/60s --watch=100ms'
    two_texts "$BATS_TEST_TMPDIR/screen"
    run -1 grep $'\e' "$BATS_TEST_TMPDIR/screen"
    grep -q '3 of 5' "$BATS_TEST_TMPDIR/screen"
  done
}

@test "a lost server is reported on the screen, the cause first and whole, and retried" {
  needs_terminal
  run -130 watch_in_terminal 'stop_servers; wait_until grep -q "trying again" "$screen"; printf "\003"' \
    'rlctl inspect k --watch=100ms'
  # In lines of 60 columns, from the upper left corner; and it stays above the last text.
  local text whole="^cannot connect to $RLCTL_URL: connection refused; no answer at .*, trying again *key "
  text=$(sed $'s/\e\\[?25h\e\\[?1049l.*//' "$BATS_TEST_TMPDIR/screen")
  assert_regex "$(uncoloured <<<"${text##*$'\e[H'}" | tr -d '\n')" "$whole"
  assert_regex "$(remains | tr -d '\n')" "$whole"
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

# watch_json KEY: watches in the background until the first line. last_is TYPE: whether the key is now of this type.
watch_json() {
  bound rlctl inspect "$1" --json --watch=100ms >"$BATS_TEST_TMPDIR/lines" 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
  pid=$!
  wait_until test -s "$BATS_TEST_TMPDIR/lines"
}
last_is() { tail -n 1 "$BATS_TEST_TMPDIR/lines" | grep -q "\"type\":\"$1\""; }

@test "--json prints one line each time and flushes it, even while a key appears and disappears" {
  watch_json comes
  rlctl check -q comes --limit 5/60s
  wait_until last_is list
  cli DEL comes
  wait_until last_is none
  kill -TERM "$pid"
  wait "$pid" || (($? == 143))
  gojq -e .now_us "$BATS_TEST_TMPDIR/lines" >/dev/null
}

@test "in a pipe a lost server is reported once and retried until it answers" {
  local first=$socket
  watch_json k
  stop_servers
  wait_until test -s "$BATS_TEST_TMPDIR/errors"
  # It may have waited for a reply when the server ended.
  assert_regex "$(<"$BATS_TEST_TMPDIR/errors")" \
    "\"message\":\"(cannot connect to $RLCTL_URL: connection refused|$RLCTL_URL closed the connection)\",\"hint\":null"
  assert_equal "$(gojq -r .error.code "$BATS_TEST_TMPDIR/errors")" unreachable
  sleep 0.3
  start_server
  ln -sfn "$socket" "$first"
  wait_until last_is none
  kill -TERM "$pid"
  wait "$pid" || (($? == 143))
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/errors")" 1
}

@test "a server that is missing at the start, or refuses a command, ends the watch" {
  local status=0
  watch_json k
  cli ACL SETUSER default -pttl
  wait "$pid" || status=$?
  assert_equal "$status" 4
  grep -q NOPERM "$BATS_TEST_TMPDIR/errors"
  stop_servers
  run_with_timeout -3 rlctl inspect k --watch
  assert_output --partial 'cannot connect'
}

@test "a reader that exits ends the watch, and after -- a key may look like the interval" {
  cli RENAME k 5s
  run_with_timeout -0 bash -c 'rlctl inspect --json --watch=100ms -- 5s | head -n 1; echo "${PIPESTATUS[0]}"'
  assert_line --partial '{"key":"5s",'
  assert_line 141
}
