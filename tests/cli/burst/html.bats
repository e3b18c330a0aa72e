# needs: server
load ../../support/common

# What is in a page without looking at it; tests/browser looks.

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# data FILE: the data of a page's script.
data() { sed -n 's|.*<script type="application/json" id="data">\(.*\)</script>|\1|p' "$1"; }

@test "a page is one file of less than 500 kB that names nothing to load, and escapes keys" {
  # Tags, quotes and characters that change the direction.
  printf '%s </script><!--"\xe2\x80\xae\xe2\x80\xa8 1\n' 1 2 >log
  rlctl burst -q --model --replay log --limit 1/60s -o x.html
  (($(stat -c %s x.html) < 500000))
  # The icon is empty, and the policy forbids the rest.
  run -1 grep -oE '(src|href)="[^"]+"' <(grep -v 'href="data:,"' x.html)
  grep -qF "default-src 'none'" x.html
  run -1 grep -oE "(url\(|@import|fetch\(|XMLHttpRequest|https?://)" <(grep -v 'http://www.w3.org/2000/svg' x.html)
  # The page's own closing tags only.
  run -0 grep -oE '</(script|title)>' x.html
  assert_output $'</title>\n</script>\n</script>'
  run -1 grep -P '\xe2\x80[\xae\xa8]' x.html
  run -0 gojq -r '.events.traffic[0].keys[0]' <(data x.html)
  assert_output $'</script><!--"\xe2\x80\xae\xe2\x80\xa8'
}

@test "the data of a page are the JSON of -o and of --json, with events" {
  printf '%s\n' '1000 a 2' '1001 b 1' '1001.5 a 3' '1002 b 9' >log
  run -0 rlctl burst --json --model --replay log --limit 4/60s fixed-window -o x.html -o x.json -o x.jsonl
  local json
  json=$(cat x.json)
  assert_equal "$(data x.html)" "$json"
  assert_equal "${json%%,'"events":'*}}" "$output"
  run -0 gojq -c '.events | (.traffic[0] | [.keys, .at_us, .key, .cost]), .runs[0].decisions' x.json
  assert_output '[["a","b"],[1000000000,1000000,500000,500000],[0,1,-1,1],[2,-1,2,6]]
"1103"'
  assert_equal "$(grep -o '"allowed":[a-z]*' x.jsonl | xargs)" 'allowed:true allowed:true allowed:false allowed:false'
}

@test "a page of a log of more than 100,000 requests is refused before anything is sent" {
  seq -f '%.0f a 1' 100001 >log
  run -2 --separate-stderr rlctl burst --model --replay log --limit 1/60s -o x.html
  assert_equal "$stderr" 'rlctl: burst: -o *.html: a page shows at most 100,000 requests, not 100,001
  hint: draw a picture: -o FILE.svg'
  assert [ ! -e x.html ]
}

@test "under the real clock, each run has requests and a beginning of its own" {
  rlctl burst steady -q --clock real --limit 20/s --duration 200ms --rate 100/s -o x.html
  data x.html >data.json
  gojq -e '.clock == "real" and (.events.traffic | length) == 2 and
    .events.traffic[0].at_us[0] - .events.runs[0].begin_us < 1000000' data.json
}
