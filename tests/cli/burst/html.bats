# needs: server
load ../../support/common

# What is in a page without looking at it; tests/browser looks.

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# data FILE: the data of a page's script.
data() { sed -n 's|.*<script type="application/json" id="data">\(.*\)</script>|\1|p' "$1"; }

@test "a page is one file of less than 500 kB that names nothing to load" {
  rlctl burst -q --model -o x.html
  (($(stat -c %s x.html) < 500000))
  # The icon is empty, the picture is data, and the policy forbids the rest.
  run -1 grep -oE '(src|href)="[^"]+"' <(grep -v -e 'href="data:,"' -e 'src="data:image/svg+xml;base64,' x.html)
  grep -qF "default-src 'none'" x.html
  run -1 grep -oE "(url\(|@import|fetch\(|XMLHttpRequest|https?://)" x.html
}

@test "the data are the decisions: their times, keys, costs and answers" {
  printf '%s\n' '1000 a 2' '1001 b 1' '1001.5 a 3' '1002 b 9' >log
  rlctl burst -q --model --replay log --limit 4/60s fixed-window -o x.html -o x.jsonl
  data x.html >data.json
  run -0 gojq -c '.scenes[0].traffic[0] | [.keys, .at, .key, .cost]' data.json
  assert_output '[["a","b"],[1000000000,1000000,500000,500000],[0,1,-1,1],[2,-1,2,6]]'
  run -0 gojq -r '.scenes[0].runs[0].decisions' data.json
  assert_output "$(gojq -rs 'map(if .allowed then "1" else "0" end) | join("")' x.jsonl)"
  run -0 gojq -c '[.limits[0].limit, .limits[0].window]' data.json
  assert_output '[4,60000000]'
}

@test "the sentences depend on the run" {
  rlctl burst -q --model -o x.html
  grep -F '<h1>fixed-window allowed 2,000 requests within 19.99' x.html
  grep 'Each limiter gets the same 2,000 requests: the limit in the last 10.*ms of a window, and again' x.html
  rlctl burst -q --model gcra --limit 10/s --cost 2 -o x.html
  grep -F 'units allowed' x.html | grep -F 'a limit of 10 per 1 s'
  rlctl burst steady -q --model sliding-window-log --limit 7/3h -o x.html
  grep -F '<h1>At most 7 requests allowed within any 3' x.html
  grep -F 'No span of 3' x.html | grep -F 'exceeds the limit.'
  rlctl adversary -q --model fixed-window -o x.html
  grep -F '<h1>fixed-window allowed 10 requests within 10' x.html
  run -1 rlctl burst poisson -q --model --limit 9/7s sliding-window-counter --compare sliding-window-log \
    -o x.html
  grep -F 'differ at request 15' x.html
}

@test "a page ends with the report, whose names are escaped" {
  printf '%s <b>& 1\n' 1 2 3 >log
  rlctl burst -q --model --replay log --limit 1/60s -o x.html
  sed -n '/<pre/,/<\/pre>/{s/^<pre[^>]*>//;/<\/pre>/!p}' x.html >shown
  grep -F 'virtual time' shown
  grep -F 'rlctl burst fixed-window' shown
  run -1 grep -F '<b>' x.html
}

@test "a page of more than 100,000 requests is refused before anything is sent" {
  seq -f '%.0f a 1' 100001 >log
  run -2 --separate-stderr rlctl burst --model --replay log --limit 1/60s -o x.html
  assert_equal "$stderr" 'rlctl: burst: -o *.html: a page shows at most 100,000 requests, not 100,001
  hint: draw a picture: -o FILE.svg'
  assert [ ! -e x.html ]
}

@test "tags, quotes and characters that change the direction are escaped in keys" {
  printf '%s </script><!--"\xe2\x80\xae\xe2\x80\xa8 1\n' 1 2 >log
  rlctl burst -q --model --replay log --limit 1/60s -o x.html
  # The page's own closing tags only.
  assert_equal "$(grep -o '</script>' x.html | wc -l)" 2
  assert_equal "$(grep -o '</title>' x.html | wc -l)" 1
  run -1 grep -P '\xe2\x80[\xae\xa8]' x.html
  run -0 gojq -r '.scenes[0].traffic[0].keys[0]' <(data x.html)
  assert_output '</script><!--"\xe2\x80\xae\xe2\x80\xa8'
}

@test "under the real clock, each run has times of its own" {
  run -0 rlctl burst steady -q --clock real --limit 20/s --duration 200ms --rate 100/s -o x.html
  data x.html >data.json
  gojq -e '.clock == false and (.scenes[0].traffic | length) == 2 and .scenes[0].traffic[0].at[0] < 1000000' data.json
}
