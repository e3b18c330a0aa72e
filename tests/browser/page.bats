# needs: server
load ../support/common

# The page of `burst -o page.html` in headless Chromium, which check.mjs drives: what is expected is a list there.
# `.ci/run` installs Chromium and the npm packages; without them this is skipped.

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
  perl -e 'srand 1; my $t = 1795600000; for (1 .. 9000) { $t += rand 0.4; my $k = int(50 * rand() ** 3);
    printf "%.6f 10.0.%d.%d 1\n", $t, $k / 250, $k % 250 }' >access.log
  rlctl burst -q --model --replay access.log --limit 20/60s fixed-window gcra --suggest 1% \
    -o replay.html -o replay.jsonl
  { for _ in 1 2 3; do printf '1795600000 </script><script>hacked=1</script>"\xe2\x80\xae 1\n1795600001 b 1\n'; done; } >keys.log
  rlctl burst -q --model --replay keys.log --limit 1/60s -o hostile.html
}

@test "the page of burst does all that check.mjs expects of it, in a browser" {
  local packages=$project/.cache/npm/node_modules
  needs chromium
  needs nodejs node
  [[ -e $packages/playwright-core && -e $packages/axe-core ]] ||
    skip 'needs packages of npm, which .ci/run installs'
  cd "$BATS_TEST_TMPDIR"
  make_pages
  node "$project/tests/browser/check.mjs" "$packages" . >results 2>durations ||
    fail "$(grep '^not ok' results || cat durations)"
}
