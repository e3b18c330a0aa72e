# needs: server
load ../../support/common
load ../../support/faults

# Limits of a calendar where other programs, clocks and servers take part; calendar.t has the rest.

setup_file() { start_server; }
setup() { cli FLUSHALL; }
month=(--limit 3/month@Europe/Zurich --algorithm fixed-window)

@test "the values that the help of --limit shows are taken as they are; every command that shows them takes the last" {
  local command values value
  local -A rest=([run]='-- true' [inspect]='' [quota]='-w 100% -c 100%' [reset]='' [settle]='id 1')
  values_of() {
    rlctl "$1" --help | tr -s '\n ' ' ' | sed -nE 's/.*requests and window: ([^;]*);.*/\1/p' | sed 's/(also//; s/[,)]//g'
  }
  values=$(values_of check)
  for value in $values; do expect_status 0 rlctl check "$value" --limit "$value"; done
  [[ $value == *@* ]]
  # shellcheck disable=SC2086 # several words
  for command in "${!rest[@]}"; do
    assert_equal "$(values_of "$command")" "$values"
    # Of a key that does not exist, inspect and settle say so.
    expect_status "$([[ $command == @(inspect|settle) ]] && echo 1 || echo 0)" \
      rlctl "$command" "$command" --limit "$value" ${rest[$command]}
  done
  values=$(values_of burst) value=
  for value in $values; do expect_status 0 rlctl burst --model fixed-window steady --requests 3 --limit "$value"; done
  [[ $value == */* ]]
}

@test "--wait waits for the next period" {
  # A zone of the test whose midnight is in three seconds, made as zic(8) makes them.
  local seconds=$(($(date +%s) + 3))
  export TZDIR=$BATS_TEST_TMPDIR
  perl -e '
    my $offset = (86400 - $ARGV[0] % 86400) % 86400;
    my $header = "TZif2" . "\0" x 15 . pack "N6", 0, 0, 0, 0, 1, 4;
    my $data = pack("l> C C", $offset, 0, 0) . "ABC\0";
    print $header, $data, $header, $data, "\n\n"' "$seconds" >"$TZDIR/Soon"
  rlctl check -q k --limit 1/day@Soon
  run_with_timeout -0 rlctl check k --limit 1/day@Soon --wait
  assert_output --partial 'allowed'
  (($(date +%s) >= seconds))
}

# ahead SECONDS: sets the server's clock.
ahead() {
  perl -e 'open my $f, "+<", $ENV{clock} or die; syswrite $f, pack "q", $ARGV[0]' "$1"
  wait_until clock_is_ahead "$1"
}
clock_is_ahead() { (($(cli TIME | head -1) - $(date +%s) > $1 - 60)); }

@test "a server with another clock has another period, which is stated at the second try" {
  needs_plain_build
  start_server_with_clock
  ahead $((400 * 86400))
  run -0 rlctl check k "${month[@]}"
  assert_output --partial 'remaining=2'
  # Each process asks twice, but a batch only for its first lines.
  cli CONFIG RESETSTAT
  run -0 rlctl check --batch "${month[@]}" <<<$'a\nb\nc'
  assert_line --index 2 --partial 'allowed key=c'
  local calls
  calls=$(calls evalsha)
  ((calls >= 4 && calls <= 6)) || fail "$calls calls"
  run -0 rlctl check k "${month[@]}" --peek
  run -0 rlctl check --batch "${month[@]}" --peek <<<$'a\nb\nc'
  run -0 rlctl check k --limit 3/day@Asia/Tokyo "${month[@]}" --headers
  run -0 rlctl run "${month[@]}" job -- true
}

@test "a server that refuses each period is asked three times" {
  start_fake_server '-PERIOD the period of KEYS[1] must hold 1000000, not be '\''1-2'\''\r\n'
  run -5 rlctl check k "${month[@]}"
  assert_output --partial 'PERIOD the period of KEYS[1] must hold 1000000'
}
