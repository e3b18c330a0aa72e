# needs: server
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
  gojq -r '[.at_us, .allowed] | @tsv' "$1" | perl -ane '
    BEGIN { $width = shift }
    $from //= $F[0] - $F[0] % $width;
    $count{($F[0] - $from - ($F[0] - $from) % $width) / $width}{$F[1]}++;
    END { printf "%d %d %d\n", $_, $count{$_}{true} // 0, $count{$_}{false} // 0 for sort { $a <=> $b } keys %count }
  ' "$2"
}
# same_columns WIDTH_US ARGUMENT…: the columns have this width, and hold what the decisions say.
same_columns() {
  local width=$1
  shift
  cd "$BATS_TEST_TMPDIR" || return
  rlctl burst -q --model "$@" -o x.svg -o x.jsonl
  run -0 drawn x.svg
  ((${#lines[@]} > 5)) || fail "$output"
  assert_equal "$output" "$(counted x.jsonl "$width")"
}

@test "an even rate has columns of equal height" {
  run -0 rlctl burst steady --model --limit 4/s --rate 4/s leaky-bucket --duration 20s
  assert_line --regexp '^allowed .█{40}$|^allowed [|]#{40}$'
  assert_line --regexp 'a column is 500 ms, the highest 2$'
}

@test "each column counts the requests from its beginning to just before its end" {
  same_columns 200000 steady --limit 4/s --rate 4/s leaky-bucket --duration 20s
  same_columns 200000 steady --limit 20/s --rate 50/s gcra --duration 20s
  same_columns 200 boundary --limit 100/60s fixed-window
  same_columns 10000000 ramp --limit 100/60s token-bucket --duration 20m
  same_columns 500000 poisson --limit 100/7s sliding-window-log --duration 1m
}

@test "so does each column of a log, from round times of day" {
  rlctl burst poisson -q --model --limit 50/37s gcra --start 2026-11-20T06:11:15.155201Z \
    --duration 53m -o "$BATS_TEST_TMPDIR/day.jsonl"
  same_columns 30000000 --replay "$BATS_TEST_TMPDIR/day.jsonl" --limit 50/37s fixed-window
}

@test "with several keys, the curve and the verdict of a picture are about the same key" {
  cd "$BATS_TEST_TMPDIR"
  rlctl burst poisson -q --model --limit 10/60s --keys 5 fixed-window sliding-window-log \
    -o x.svg --json
  run -0 xmllint --xpath '//*[local-name()="text"][contains(., "key")]/text()' x.svg
  assert_line 'allowed to the named key within the last 60 s'
  assert_line 'bars: requests of all keys in 2 s'
  assert_line '1.50× the limit of key 3: 15 within 58.31 s'
  assert_line 'never above the limit; closest: key 1'
  # The limit is that of one key, and the highest value of the curve is what the verdict says.
  run -0 xmllint --xpath '//*[local-name()="text"][@class="soft end"][@x="68.0" or @x="460.0"]/text()' x.svg
  assert_output $'10\n0\n15\n10\n10\n0\n15\n10'
  run -0 rlctl burst poisson --model --limit 10/60s --keys 5 fixed-window sliding-window-log
  assert_line --regexp '^fixed-window  1\.50. the limit of key 3: 15 within 58\.31 s$'
  assert_line --regexp '^ +15 .'
  assert_line --regexp '^sliding-window-log  never above the limit; closest: key 1$'
  assert_line --regexp '^chart +allowed to the named key within the last 60 s +against the limit$'
  assert_line --regexp '^rows +requests of all keys +a column is '
}

@test "microseconds are written with a micro sign, and with a u if the locale is not UTF-8" {
  export LC_ALL=C.UTF-8
  run -0 rlctl burst --model --limit 100/1s
  assert_output --partial 'a column is 500 µs'
  run -0 rlctl adversary --model --limit 2/1500us fixed-window
  assert_output --partial 'limit      2 per 1500 µs'
  LC_ALL=C run -0 rlctl adversary --model --limit 2/1500µs fixed-window
  assert_output --partial 'limit      2 per 1500 us'
  run -1 grep -P '[^\x00-\x7f]' <<<"$output"
  LC_ALL=C run -0 rlctl burst --model --limit 100/1s
  assert_output --partial 'a column is 500 us'
  # A picture is the same in every locale.
  LC_ALL=C run -0 as svg rlctl burst --model --limit 100/1s
  assert_output --partial 'bars: requests in 200 µs'
}
