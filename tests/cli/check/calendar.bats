# needs: server
load ../../support/common
load ../../support/faults

# Limits per day, week, month and year of a time zone, in every command that takes a limit.

setup_file() { start_server; }
setup() {
  [[ -e /usr/share/zoneinfo/Europe/Zurich ]] || skip 'no time zones are installed'
  cli FLUSHALL >/dev/null
}
month=(--limit 3/month@Europe/Zurich --algorithm fixed-window)

# limits_of KEY…: what `inspect` says about the limit of each key.
limits_of() { rlctl inspect "$@" | grep -oE 'limit [0-9]+ per [^,]*'; }

@test "a month of a zone begins at its own midnight, and ends there" {
  run -0 rlctl check k "${month[@]}" --cost 3 --now 2026-10-31T22:59:59Z
  assert_output 'allowed key=k limit=3/month@Europe/Zurich algorithm=fixed-window remaining=0 reset=1.000s'
  run -1 rlctl check k "${month[@]}" --now 2026-10-31T22:59:59.999999Z
  assert_output --partial ' remaining=0 retry_after=0.001s '
  run -0 rlctl check k "${month[@]}" --now 2026-10-31T23:00:00Z
  assert_output --partial ' remaining=2 reset=2592000.000s'
}

@test "the values that the help of --limit shows are taken as they are, by every command that shows them" {
  local command values value
  for command in check run inspect quota reset settle burst 'scripts call'; do
    # shellcheck disable=SC2086 # two words
    values=$(rlctl $command --help | tr -s '\n ' ' ' | grep -oE 'requests and window: [^;]*' |
      sed 's/.*: //; s/, / /g')
    [[ $command == burst || $values == *@* ]] || fail "$command: $values"
    for value in $values; do
      case $command in
        check) run -0 rlctl check "help:$value" --limit "$value" ;;
        run) run -0 rlctl run "run:$value" --limit "$value" -- true ;;
        inspect) run -0 rlctl inspect "help:$value" --limit "$value" ;;
        quota) run -0 rlctl quota "help:$value" --limit "$value" -w 100% -c 100% ;;
        reset) run -0 rlctl reset --limit "$value" "help:$value" ;;
        settle) run -1 rlctl settle --limit "$value" "settle:$value" id 1 ;;
        burst) run -0 rlctl burst --model --limit "$value" --algorithm fixed-window steady --requests 3 ;;
        *) run -0 rlctl scripts call fixed-window "call:$value" --limit "$value" ;;
      esac
    done
  done
}

@test "without --algorithm, a window of the calendar chooses fixed-window, which each command names" {
  run -0 rlctl check k --limit 9/month@Europe/Zurich --limit 5/60s
  assert_output --partial 'limit=9/month@Europe/Zurich,5/60s algorithm=fixed-window remaining=4'
  run -0 rlctl check m --limit 9/month@Europe/Zurich --json
  assert_equal "$(gojq -r .algorithm <<<"$output")" fixed-window
  run -0 rlctl inspect m --limit 9/month@Europe/Zurich
  assert_line --regexp '^algorithm +fixed-window +limit 9 per month@Europe/Zurich$'
  run -0 rlctl quota m --limit 9/month@Europe/Zurich --json
  assert_equal "$(gojq -r '.limits[0].algorithm' <<<"$output")" fixed-window
  run -0 rlctl reset m --limit 9/month@Europe/Zurich
  assert_output 'removed key=m algorithm=fixed-window'
  run -0 rlctl check b --limit 9/month --reserve 1 --hold 30s
  assert_output --partial 'algorithm=budget'
  run -0 rlctl burst --model --limit 9/month steady --json
  assert_equal "$(gojq -c '[.runs[].algorithm]' <<<"$output")" '["fixed-window"]'
}

@test "what is stored decides what inspect and quota show, and an algorithm without a calendar has the fix as its hint" {
  rlctl check -q log --limit 5/60s
  rlctl check -q bucket --limit 5/60s --algorithm gcra
  run -0 rlctl inspect log --limit 9/month@Europe/Zurich
  assert_line --regexp '^algorithm +sliding-window-log '
  run -2 --separate-stderr rlctl inspect bucket --limit 9/month@Europe/Zurich
  assert_equal "$stderr" "rlctl: inspect: the key holds gcra's state, which has no windows of the calendar, such as month@Europe/Zurich
  hint: pass a limit of a fixed length, such as 9/31d"
  run -3 rlctl quota bucket --limit 9/month@Europe/Zurich
  assert_line --index 0 --partial "the key holds gcra's state"
  run -0 rlctl reset bucket --limit 9/month@Europe/Zurich
  assert_output 'removed key=bucket algorithm=gcra'
  run -2 --separate-stderr rlctl check k --limit 9/month@Europe/Zurich --algorithm gcra
  assert_equal "${stderr_lines[1]}" '  hint: --algorithm fixed-window'
  run -2 --separate-stderr rlctl burst --model --limit 9/month --algorithm gcra
  assert_equal "${stderr_lines[1]}" '  hint: --algorithm fixed-window'
}

@test "a budget has windows of the calendar too" {
  run -0 rlctl check k --limit 3/month+15@Europe/Zurich --algorithm budget --cost 2 --now 2026-11-14T22:59:59Z
  assert_output --partial ' limit=3/month+15@Europe/Zurich algorithm=budget remaining=1 reset=1.000s'
  run -0 rlctl check k --limit 3/month+15@Europe/Zurich --algorithm budget --cost 3 --now 2026-11-14T23:00:00Z
  assert_output --partial ' remaining=0 reset=2592000.000s'
}

@test "a day has 23 or 25 hours where the clocks change, and inspect, list and quota say so" {
  local day=(--limit 5/day@Europe/Zurich --algorithm fixed-window)
  run -0 rlctl check k "${day[@]}" --now 2026-03-28T23:00:00Z
  assert_output --partial 'reset=82800.000s'
  assert_equal "$(rlctl inspect k --now 2026-03-29T12:00:00Z | grep -oE 'limit 5 per [^,]*')" 'limit 5 per 23 h'
  run -0 rlctl inspect k "${day[@]}" --now 2026-03-29T12:00:00Z
  assert_output --partial 'limit 5 per day@Europe/Zurich'
  assert_output --partial 'from 2026-03-28T23:00:00Z'
  assert_output --partial 'to   2026-03-29T22:00:00Z'
  refute_output --partial 'applies while it counts'
  run -0 rlctl inspect k "${day[@]}" --now 2026-03-29T12:00:00Z --json
  assert_equal "$(gojq -c '[.limit, .window_us, .calendar, .used, .reset_after_us]' <<<"$output")" \
    '[5,82800000000,"day@Europe/Zurich",1,36000000000]'
  # In the day after it, the window is that day.
  run -0 rlctl inspect k "${day[@]}" --now 2026-03-30T12:00:00Z --json
  assert_equal "$(gojq -c '[.window_us, .used]' <<<"$output")" '[86400000000,0]'
  rlctl check -q k "${day[@]}" --now 2026-10-24T22:00:00Z
  assert_equal "$(limits_of k)" 'limit 5 per 25 h'
}

@test "without --now, the period of the present counts, and list, quota and audit know it" {
  rlctl check -q k "${month[@]}" --cost 2
  run -0 rlctl list --limit 3/month@Europe/Zurich
  assert_line --regexp '^ *2 +3/month@Europe/Zurich +66% .* k$'
  run -0 rlctl list --limit 3/month@Europe/Zurich --json
  assert_equal "$(gojq -c '[.key, .limit, .calendar, .used]' <<<"$output")" '["k",3,"month@Europe/Zurich",2]'
  run -0 rlctl quota k "${month[@]}"
  assert_output --partial 'OK'
  run -2 rlctl quota k "${month[@]}" --warning 1% --critical 60% --json
  assert_equal "$(gojq -r '.limits[0].calendar' <<<"$output")" month@Europe/Zurich
  run -0 rlctl audit
}

@test "several limits have a key for each calendar, which inspect and list find, and reset with its limits" {
  local limits=(--limit 2/day@Asia/Tokyo --limit 9/month+15@Europe/Zurich --algorithm fixed-window)
  rlctl check -q k "${limits[@]}"
  assert_equal "$(cli --raw KEYS '*' | sort)" $'{k}:day@Asia/Tokyo\n{k}:month+15@Europe/Zurich'
  run -0 rlctl inspect k
  assert_output --partial '{k}:day@Asia/Tokyo'
  assert_output --partial '{k}:month+15@Europe/Zurich'
  run -0 rlctl list --limit 2/day@Asia/Tokyo
  assert_line --regexp '^ *1 +2/day@Asia/Tokyo +50% .* \{k\}:day@Asia/Tokyo$'
  # The limit of one key is not that of the other, which has its own.
  refute_line --regexp '^ *1 +2/day@Asia/Tokyo .* \{k\}:month'
  # The names with other zones than UTC are not known.
  run -0 rlctl reset k
  assert_equal "$(cli DBSIZE)" 2
  run -0 rlctl reset k "${limits[@]}"
  assert_equal "$(cli DBSIZE)" 0
}

@test "JSON and the fields of HTTP have the calendar and the length of its period" {
  run -0 rlctl check k "${month[@]}" --now 2026-02-10T00:00:00Z --json
  assert_equal "$(gojq -c '.limits[0] | [.limit, .window_us, .calendar]' <<<"$output")" \
    '[3,2678400000000,"month@Europe/Zurich"]'
  run -0 rlctl check k "${month[@]}" --now 2026-02-10T00:00:00Z --headers
  assert_line 'RateLimit-Policy: "month@Europe/Zurich";q=3;w=2419200'
  assert_line 'RateLimit: "month@Europe/Zurich";r=1;t=1638000'
}

@test "a policy may have a limit of the calendar" {
  printf '[policy.bill]\nkey = "bill:%%s"\nlimit = "3/month+15@Europe/Zurich"\nalgorithm = "fixed-window"\n' \
    >"$BATS_TEST_TMPDIR/c.toml"
  run -0 rlctl --config "$BATS_TEST_TMPDIR/c.toml" check --policy bill ann
  assert_output --partial 'key=bill:ann limit=3/month+15@Europe/Zurich'
  run -0 rlctl --config "$BATS_TEST_TMPDIR/c.toml" list
  assert_output --partial '3/month+15@Europe/Zurich'
  run -0 rlctl --config "$BATS_TEST_TMPDIR/c.toml" config show --json
  assert_equal "$(gojq -r '.policies[0].limits[0].calendar' <<<"$output")" month+15@Europe/Zurich
  sed -i 's/fixed-window/gcra/' "$BATS_TEST_TMPDIR/c.toml"
  run -2 rlctl --config "$BATS_TEST_TMPDIR/c.toml" check --policy bill ann
  assert_output --partial 'gcra has no windows of the calendar'
  sed -i '/algorithm/d' "$BATS_TEST_TMPDIR/c.toml"
  run -0 rlctl --config "$BATS_TEST_TMPDIR/c.toml" check --policy bill ann
  assert_output --partial 'algorithm=fixed-window'
}

@test "--wait waits for the next period" {
  # The first second of a day of this zone is not far: its offset ends at the next full second.
  local seconds zones=$BATS_TEST_TMPDIR/zones
  mkdir "$zones"
  seconds=$(($(date +%s) + 3))
  # A zone of the test whose midnight is in three seconds, made as zic(8) makes them.
  perl -e '
    my $offset = (86400 - $ARGV[0] % 86400) % 86400;
    my $header = "TZif2" . "\0" x 15;
    my $data = pack "l> C C", $offset, 0, 0;
    print $header, pack("N6", 0, 0, 0, 0, 1, 4), $data, "ABC\0";
    print $header, pack("N6", 0, 0, 0, 0, 1, 4), $data, "ABC\0", "\n\n";
  ' "$seconds" >"$zones/Soon"
  export TZDIR=$zones
  rlctl check -q k --limit 1/day@Soon --algorithm fixed-window
  run_with_timeout -0 rlctl check k --limit 1/day@Soon --algorithm fixed-window --wait
  assert_output --partial 'allowed'
  (($(date +%s) >= seconds))
}

# --- when the clocks differ -------------------------------------------------------------------------

# ahead SECONDS: sets the server's clock.
ahead() {
  perl -e 'open my $f, "+<", $ENV{clock} or die; syswrite $f, pack "q", $ARGV[0]' "$1"
  wait_until clock_is_ahead "$1"
}
clock_is_ahead() { (($(cli TIME | head -1) - $(date +%s) > $1 - 60)); }

@test "a server with another clock has another period, which is stated at the second try" {
  [[ $RLCTL_BUILD != *sanitize* ]] || skip 'a sanitizer must be the first library that is loaded'
  start_server_with_clock
  ahead $((400 * 86400))
  local calls
  run -0 rlctl check k "${month[@]}"
  assert_output --partial 'remaining=2'
  run -0 rlctl inspect k
  assert_output --partial 'limit 3 per '
  # Each process asks twice, but a batch only for its first lines.
  cli CONFIG RESETSTAT
  run -0 rlctl check --batch "${month[@]}" <<<$'a\nb\nc'
  assert_equal "${#lines[@]}" 3
  assert_line --index 2 --partial 'allowed key=c'
  calls=$(calls evalsha)
  ((calls >= 4 && calls <= 6)) || fail "$calls calls"
  run -0 rlctl check k "${month[@]}" --peek
  run -0 rlctl check --batch "${month[@]}" --peek <<<$'a\nb\nc'
  run -0 rlctl check k --limit 3/day@Asia/Tokyo "${month[@]}" --headers
  run -0 rlctl run "${month[@]}" job -- true
  run -0 rlctl scripts call fixed-window s --limit 3/month@Europe/Zurich
}

@test "a server that refuses each period is asked three times" {
  start_fake_server '-PERIOD the period of KEYS[1] must hold 1000000, not be '\''1-2'\''\r\n'
  run -5 rlctl check k "${month[@]}"
  assert_output --partial 'PERIOD the period of KEYS[1] must hold 1000000'
}

# --- burst ------------------------------------------------------------------------------------------

@test "burst shows what passes around the end of a month" {
  run -0 rlctl burst --limit 1000/month@Europe/Zurich --algorithm fixed-window boundary
  assert_output --partial '2000'
}

@test "a model of a calendar agrees with its script" {
  local algorithm
  for algorithm in fixed-window budget; do
    run -0 rlctl burst --limit 20/day@America/Asuncion --algorithm "$algorithm" --start 2024-03-23T00:00:00Z \
      --model --json boundary
    local model=$output
    run -0 rlctl burst --limit 20/day@America/Asuncion --algorithm "$algorithm" --start 2024-03-23T00:00:00Z \
      --json boundary
    assert_equal "$(gojq '.runs[] | del(.bytes_per_key)' <<<"$output")" \
      "$(gojq '.runs[] | del(.bytes_per_key)' <<<"$model")"
  done
}

# --- zones ------------------------------------------------------------------------------------------

@test "a zone that does not exist is status 2, with similar names" {
  run -2 rlctl check k --limit 1/day@Europe/Zurch --algorithm fixed-window
  assert_output --partial "has zone 'Europe/Zurch', which does not exist; did you mean 'Europe/Zurich'?"
}

@test "where no zones are installed, only UTC can be used" {
  mkdir "$BATS_TEST_TMPDIR/none"
  TZDIR=$BATS_TEST_TMPDIR/none run -2 rlctl check k --limit 1/day@Europe/Zurich --algorithm fixed-window
  assert_output --partial 'no time zones are installed (package tzdata)'
  TZDIR=$BATS_TEST_TMPDIR/none run -0 rlctl check k --limit 1/month --algorithm fixed-window
  assert_output --partial 'limit=1/month@UTC'
}

@test "the user's TZ has no influence, and run passes it on" {
  TZ=Asia/Tokyo run -0 rlctl run "${month[@]}" job -- printenv TZ
  assert_output Asia/Tokyo
  run -1 env -u TZ rlctl run "${month[@]}" job -- printenv TZ
  assert_output ''
}
