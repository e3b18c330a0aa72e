# needs: server
load ../support/common

# The page of `burst -o page.html` in headless Chromium. check.mjs checks all at once, and each test here looks up what it
# found. `.ci/run` installs Chromium and the npm packages; without them these tests are skipped.

setup_file() {
  local packages=$project/.cache/npm/node_modules
  cd "$BATS_FILE_TMPDIR"
  missing=''
  command -v chromium >/dev/null || missing='no chromium'
  command -v node >/dev/null || missing='no node'
  [[ -e $packages/playwright-core && -e $packages/axe-core ]] || missing="no playwright-core or axe-core in $packages"
  export missing
  if [[ $missing ]]; then return; fi
  make_pages
  node "$project/tests/browser/check.mjs" "$packages" . >results 2>"times" || cat times >&2
}

make_pages() {
  LC_ALL=C.UTF-8 rlctl burst --model -o default.html >default.txt
  sed 's|<main>|&<img src="data:," onerror="hacked = 1"><script>hacked = 1</script>|' default.html >policy.html
  rlctl burst poisson -q --model --limit 60/10s all -o all.html -o all.jsonl
  rlctl burst steady -q --model --limit 1000/60s --rate 100k/min --duration 60s -o large.html
  rlctl burst poisson -q --model --limit 10/s,100/60s gcra fixed-window -o limits.html
  rlctl adversary -q --model -o adversary.html
  rlctl adversary -q --model gcra --cost 1,-1 -o back.html
  rlctl burst poisson -q --model --limit 9/7s sliding-window-counter --compare sliding-window-log \
    -o against.html || (($? == 1)) # they decide differently
  perl -e 'srand 1; my $t = 1795600000; for (1 .. 90000) { $t += rand 0.4; my $k = int(50 * rand() ** 3);
    printf "%.6f 10.0.%d.%d 1\n", $t, $k / 250, $k % 250 }' >access.log
  rlctl burst -q --model --replay access.log --limit 20/60s fixed-window gcra --suggest 1% \
    -o replay.html -o replay.jsonl
  { for _ in 1 2 3; do printf '1795600000 </script><script>hacked=1</script>"\xe2\x80\xae 1\n1795600001 b 1\n'; done; } >keys.log
  rlctl burst -q --model --replay keys.log --limit 1/60s -o hostile.html
}

# passed CHECK: skips, or fails with what was found.
passed() {
  if [[ $missing ]]; then skip "$missing; .ci/run installs them"; fi
  cd "$BATS_FILE_TMPDIR"
  grep -q "^ok $1\$" results || fail "$(grep "^not ok $1:" results || cat times)"
}

@test "a page opens at the worst moment, with sentences that say what is seen" { passed worst; }
@test "the keys of the slider go from request to request, zoom, and play" { passed keys; }
@test "the mouse drags the window and the cursor, selects and zooms, and chooses a limiter" {
  passed mouse
}
@test "playing moves the window through the run, and ends" { passed play; }
@test "a page with 100,000 requests zooms and plays" { passed frames; }
@test "the count at 1,000 places is that of the model's decisions, for each algorithm" { passed counts; }
@test "of a log with many keys, the page counts the chosen one" { passed log; }
@test "of several limits, one is chosen" { passed limits; }
@test "a search is shown step by step; where the clock steps back, by the number of the request" { passed search; }
@test "--compare opens at the first difference" { passed difference; }
@test "nothing is wider than 390 or 1280 px, and both colour schemes are there" { passed sizes; }
@test "without JavaScript, there is the report of the text, and no controls" { passed plain; }
@test "a page is printed on white, without controls" { passed print; }
@test "axe finds no violation" { passed access; }
@test "a script or a handler that is not the page's own does not run" { passed policy; }
@test "keys with tags, quotes and U+202E do nothing" { passed hostile; }
@test "no request leaves a page, and the console stays empty" { passed quiet; }
