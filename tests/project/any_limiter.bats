# needs: server
load ../support/common
load ../support/readme

# The programs of examples/any-limiter, copied to this test's folder. A JVM on a busy machine starts slowly: the tests'
# configuration lets a program have two minutes.

setup() {
  cp -r "$project/examples/any-limiter" "$BATS_TEST_TMPDIR/any-limiter"
  cd "$BATS_TEST_TMPDIR/any-limiter" || return
}

# most FIELD COMMAND…: the requests that the only limiter allowed within one window.
most() { rlctl "${@:2}" --json | jq ".runs[0].$1.allowed"; }

# row_is_true COMMAND: the numbers in the row of the README's table with this value of --exec are true.
row_is_true() {
  local boundary adversary
  IFS='|' read -r _ _ _ _ _ boundary adversary _ < <(grep -F "| \`$1\` |" README.md)
  assert_equal "$(most worst burst boundary --limit 10/1s --exec "$1")" "${boundary// /}"
  [[ $adversary == *[0-9]* ]] || return 0
  assert_equal "$(most most.worst adversary --limit 10/1s --tries 1000 --exec "$1")" "${adversary// /}"
}

# bats test_tags=night
@test "Python: the clock of a class is that of the requests, whether it calls time.time or datetime.now" {
  row_is_true './adapter.py limiter:SlidingWindow'
  row_is_true './adapter.py limiter:FixedWindow'
  # What it says besides is true, too.
  run -0 rlctl burst poisson --limit 20/1s --rate 60/s -q --exec './adapter.py limiter:SlidingWindow' \
    --assert 'remaining_too_many<=0' --assert 'remaining_too_few<=0' --assert 'retry_after_too_early_us<=0' \
    --assert 'retry_after_too_late_us<=0'
}

@test "Python: a class that uses Redis has a server of its own, with virtual time" {
  row_is_true './adapter.py redis_limiter:SlidingWindow'
}

# bats test_tags=night
@test "JavaScript: limiter.mjs decides as the README says" {
  needs nodejs node
  row_is_true 'node limiter.mjs'
}

# bats test_tags=night
@test "Java: Limiter.java decides as the README says, and what it replies is true" {
  needs openjdk-17-jdk-headless javac
  needs openjdk-17-jdk-headless java
  row_is_true 'java Limiter.java'
  run -0 rlctl burst poisson --limit 20/1s --rate 60/s -q --exec 'java Limiter.java' \
    --assert 'remaining_too_many<=0' --assert 'remaining_too_few<=0' --assert 'retry_after_too_early_us<=0' \
    --assert 'retry_after_too_late_us<=0'
}

# bats test_tags=night
@test "Go: limiter.go decides as the README says" {
  export GO111MODULE=off GOFLAGS=
  needs golang-go go
  go build -o limiter limiter.go
  row_is_true ./limiter
}

# bats test_tags=night
@test "Ruby: limiter.rb decides as the README says" {
  needs ruby
  row_is_true 'ruby limiter.rb'
}

@test "shell: limiter.sh decides as the README says" {
  row_is_true ./limiter.sh
}

# bats test_tags=night
@test "a web service: the adapter tells which promises were broken" {
  local url
  start_bound python3 -u http_service.py 0 5/3600 >url
  wait_until grep -q / url
  url=$(<url)
  # The README has its commands in the section of this name.
  awk -v url="$url" '/^## / { on = /A web service/ } on { sub("http://127.0.0.1:8080/", url); print }' README.md >http.md
  readme_is_true http.md without_times

  # A service that says another limit than the one that is asked for.
  run -0 rlctl burst steady --clock real --limit 6/1h --requests 4 --rate 100/s --keys 2 -q \
    --exec "./http_adapter.py $url lies"
  assert_equal "$(sort lies)" "$(printf '%s: the limit is said to be 5, not 6\n' 1 2)"
}

# start_service ANSWER…: a web service that answers its requests in this order, with "STATUS|FIELD: VALUE|…". Sets url.
start_service() {
  start_bound python3 -u -c '
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
answers = iter(sys.argv[1:])
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        status, *fields = next(answers).split("|")
        self.send_response(int(status))
        for field in fields:
            self.send_header(*field.split(": "))
        self.send_header("Content-Length", "0")
        self.end_headers()
server = HTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()' "$@" >url
  wait_until grep -q / url
  url=$(<url)
}

# bats test_tags=night
@test "a web service: every kind of broken promise is told" {
  start_service '200|RateLimit-Policy: "default";q=5;w=60|RateLimit: "default";r=3;t=60|X-RateLimit-Remaining: 4' \
    '429|Retry-After: 100000' '200|RateLimit: limit=5, remaining=2, reset=9' \
    '429|Retry-After: Thu, 01 Jan 2026 00:00:00 GMT' '429|X-RateLimit-Limit: 7' '200|X-RateLimit-Remaining: 1' 503
  local request='{"now_us":0,"key":"a b","cost":1,"id":1,"limit":5,"window_us":3600000000,"burst":5}'
  run -1 --separate-stderr ./http_adapter.py "$url" broken < <(printf '%s\n' "$request"{,,,,,,})
  assert_output '{"hello":{"pipeline":1}}
{"allowed": true, "remaining": 3}
{"allowed": false, "retry_after_us": 100000000000}
{"allowed": true, "remaining": 2}
{"allowed": false, "retry_after_us": 0}
{"allowed": false}
{"allowed": true, "remaining": 1}'
  assert_equal "$stderr" "$url: status 503"
  run -0 sed -E 's/[0-9.]+ s later/N s later/' broken
  assert_output 'a b: the window is said to be 60 s, not 3600 s
a b: RateLimit says r=3, X-RateLimit-Remaining 4
a b: 3 requests were said to remain, but the next one was denied
a b: Retry-After said 100000 s, but a request N s later was allowed
a b: the limit is said to be 7, not 5
a b: Retry-After said 0 s, but a request N s later was denied'
}

@test "the output in the README of examples/any-limiter is correct" {
  awk '/^## / { off = /A web service/ } !off' README.md >rest.md
  readme_is_true rest.md
}

# bats test_tags=night
@test "the flawed limiters show what their README says" {
  needs openjdk-17-jdk-headless javac
  needs openjdk-17-jdk-headless java
  cd flawed
  readme_is_true README.md
}

@test "the READMEs of examples/any-limiter name each file" {
  local file
  for file in * flawed/*; do
    [[ -d $file || $file == *README.md ]] || grep -qF "](${file#flawed/})" README.md flawed/README.md || fail "no $file"
  done
}
