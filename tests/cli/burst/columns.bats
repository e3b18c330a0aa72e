load ../../support/common

# The bars of a picture: how many requests each column holds, counted here from the decisions.

# drawn FILE: the columns of the only panel of a picture, as "number allowed denied".
drawn() {
  perl -ne '
    $most = $1 if /<text x="68.0" y="[^"]*" class="soft end">(\d+)</;  # the last such label
    push @bars, [$1, $2, $3, $4] if
      /<rect class="(allowed|denied)" x="([0-9.]+)" y="[0-9.]+" width="([0-9.]+)" height="([0-9.]+)"/ && $3 != 14;
    END {
      for (@bars) {
        my ($kind, $x, $width, $height) = @$_;
        $count{sprintf "%.0f", ($x - 76) / $width * 0.86}{$kind} = sprintf "%.0f", $height * $most / 44;
      }
      printf "%d %d %d\n", $_, $count{$_}{allowed} // 0, $count{$_}{denied} // 0 for sort { $a <=> $b } keys %count;
    }' "$1"
}
# counted FILE WIDTH_US: the same from decisions, in columns [n * WIDTH, (n + 1) * WIDTH) since 1970.
counted() {
  perl -ne '
    BEGIN { $width = pop @ARGV }
    my ($at, $allowed) = /"at_us":(\d+),.*"allowed":(\w+)/ or die "no decision: $_";
    $from //= $at - $at % $width;
    $count{($at - $from - ($at - $from) % $width) / $width}{$allowed}++;
    END { printf "%d %d %d\n", $_, $count{$_}{true} // 0, $count{$_}{false} // 0 for sort { $a <=> $b } keys %count }
  ' "$1" "$2"
}
# same_columns WIDTH_US ARGUMENT…: the columns have this width, and hold what the decisions say. The report is in $report.
same_columns() {
  local width=$1
  shift
  cd "$BATS_TEST_TMPDIR" || return
  report=$(rlctl burst --model "$@" -o x.svg -o x.jsonl)
  run -0 drawn x.svg
  ((${#lines[@]} > 5)) || fail "$output"
  assert_equal "$output" "$(counted x.jsonl "$width")"
}

@test "each column counts the requests from its beginning to just before its end" {
  same_columns 200000 steady --limit 4/s --rate 4/s leaky-bucket --duration 20s
  # An even rate has columns of equal height.
  assert_regex "$report" 'allowed .█{40}'$'\n'
  assert_regex "$report" 'a column is 500 ms, the highest 2'$'\n'
  same_columns 200 boundary --limit 100/60s fixed-window
  same_columns 10000000 ramp --limit 100/60s token-bucket --duration 20m
  if [[ ${RLCTL_TEST_ALL-} ]]; then
    same_columns 200000 steady --limit 20/s --rate 50/s gcra --duration 20s
    same_columns 500000 poisson --limit 100/7s sliding-window-log --duration 1m
  fi
}

@test "so does each column of a log, from round times of day" {
  rlctl burst poisson -q --model --limit 50/37s gcra --start 2026-11-20T06:11:15.155201Z \
    --duration 53m -o "$BATS_TEST_TMPDIR/day.jsonl"
  same_columns 30000000 --replay "$BATS_TEST_TMPDIR/day.jsonl" --limit 50/37s fixed-window
}

@test "with several keys, the curve and the verdict of a picture are about the same key" {
  cd "$BATS_TEST_TMPDIR"
  run -0 rlctl burst poisson --model --limit 10/60s --keys 5 fixed-window sliding-window-log -o x.svg
  assert_line --regexp '^fixed-window  1\.50. the limit of key 3: 15 within 58\.31 s$'
  assert_line --regexp '^ +15 .'
  assert_line --regexp '^sliding-window-log  never above the limit; closest: key 1$'
  assert_line --regexp '^chart +allowed to the named key within the last 60 s +against the limit$'
  assert_line --regexp '^rows +requests of all keys +a column is '
  run -0 xmllint --xpath '//*[local-name()="text"][contains(., "key")]/text()' x.svg
  assert_line 'allowed to the named key within the last 60 s'
  assert_line 'bars: requests of all keys in 2 s'
  assert_line '1.50× the limit of key 3: 15 within 58.31 s'
  assert_line 'never above the limit; closest: key 1'
  # The limit is that of one key, and the highest value of the curve is what the verdict says.
  run -0 xmllint --xpath '//*[local-name()="text"][@class="soft end"][@x="68.0" or @x="460.0"]/text()' x.svg
  assert_output $'10\n0\n15\n10\n10\n0\n15\n10'
}
