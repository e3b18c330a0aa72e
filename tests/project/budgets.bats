# needs: server
load ../support/common
load ../support/readme

# The programs of examples/budgets, copied to this test's folder. The windows end years from now.

setup() {
  start_server
  cp -r "$project/examples/budgets" "$BATS_TEST_TMPDIR/budgets"
  cd "$BATS_TEST_TMPDIR/budgets" || return
  sed -i 's/^TIMEOUT = 1 /TIMEOUT = 120 /; s/^UPSTREAM_TIMEOUT = 60/UPSTREAM_TIMEOUT = 120/' proxy.py
  script=$project/lua/budget.lua seconds=80000000
}

# start_model: a language model that uses as many tokens as the request's text says, or else 120. The text may go on with
# what it does then: wait until the file go-on is there, fail, or hang up. Requests are lines of the file asked. Sets model.
start_model() {
  cat >model.py <<'END'
import json, pathlib, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tokens, *then = request["messages"][0]["content"].split()
        tokens = tokens if tokens.isdigit() else "120"
        with open("asked", "a") as asked:
            print(tokens, request["max_tokens"], file=asked)
        while "wait" in then and not pathlib.Path("go-on").exists():
            time.sleep(0.02)
        if "hang-up" in then:
            return
        body = json.dumps({"usage": {"total_tokens": int(tokens)}}).encode()
        self.send_response(500 if "fail" in then else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

class Server(ThreadingHTTPServer):
    request_queue_size = 100

server = Server(("127.0.0.1", 0), Model)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
END
  : >asked
  start_bound python3 model.py >model 2>model.log
  wait_until grep -q / model
  model=$(<model)
}

# start_proxy TOKENS: with this budget for each client, at $socket. Sets proxy and proxy_pid.
start_proxy() {
  rm -f url
  start_bound python3 proxy.py 0 "$model" "$socket" "$script" "$1/$seconds" >url 2>>proxy.log
  proxy_pid=$server_pid
  wait_until grep -q / url
  proxy=$(<url)
}

# chat MOST TEXT: a request for at most MOST tokens; prints the status, and the fields of the answer that tell the budget.
chat() {
  curl -s --max-time 120 -D - -o /dev/null -H 'Authorization: Bearer ann' "${proxy}v1/chat/completions" \
    -d "{\"max_tokens\": $1, \"messages\": [{\"role\": \"user\", \"content\": \"$2\"}]}" | tr -d '\r' |
    sed -nE '1s/^[^ ]+ ([0-9]+) .*/\1/p; s/^X-RateLimit-Remaining-Tokens: /left /p; s/^Retry-After: .*/later/p' | xargs
}

key() { cli KEYS '*'; }
# left [NOW]: how many of 1000 tokens of the only key are neither spent nor held.
left() { cli --eval "$script" "$(key)" , 1000 "${seconds}e6" '' 0 "$@" | sed -n 2p; }

@test "the proxy reserves what a request may use, and spends what it has used" {
  start_model
  start_proxy 1000
  assert_equal "$(chat 500 120)" '200 left 880'
  assert_equal "$(chat 500 300)" '200 left 580'
  assert_equal "$(<asked)" $'120 500\n300 500'
  assert_equal "$(left)" 580
  # 580 are left, and the request's text has tokens, too.
  assert_equal "$(chat 570 1)" '429 later'
  assert_equal "$(chat 2000 1)" 413
  assert_equal "$(chat 0 1)" 400
  assert_equal "$(wc -l <asked)" 2
  run -0 curl -s -H 'Authorization: Bearer ann' -d '{"max_tokens": 576}' "$proxy"
  assert_output '{"error": {"message": "this request may use 582 tokens, and 580 are left"}}'
}

# bats test_tags=night
@test "the proxy frees what a request did not use, and counts what may have been used" {
  start_model
  start_proxy 1000
  assert_equal "$(chat 500 '300 fail')" '500 left 1000'
  cli SCRIPT FLUSH
  assert_equal "$(chat 500 100)" '200 left 900'
  # The model may have worked for it: 500, and a third of the request's bytes.
  assert_equal "$(chat 500 '300 hang-up')" '502 left 375'
  assert_equal "$(left)" 375

  # Nobody listens there.
  model=http://127.0.0.1:1 start_proxy 1000
  assert_equal "$(chat 300 1)" '502 left 375'
  assert_equal "$(cli HLEN "$(key)")" 5

  : >asked
  socket=127.0.0.1:1 start_proxy 1000
  assert_equal "$(chat 300 1)" 503
  assert_equal "$(<asked)" ''
}

# bats test_tags=night
@test "what a killed proxy held is free when its hold ends, to the microsecond" {
  local held end
  start_model
  start_proxy 1000
  chat 900 '1 wait' >killed 2>&1 3>&- &
  wait_until test -s asked
  held=$(left)
  ((held < 100))
  kill -KILL "$proxy_pid"
  start_proxy 1000
  run -0 chat 500 1
  assert_output '429 later'
  # The time of a denial counts from the caller's clock, here 1970.
  end=$(cli --eval "$script" "$(key)" , 1000 "${seconds}e6" '' 500 0 | sed -n 3p)
  assert_equal "$(left "$((end - 1))")" "$held"
  assert_equal "$(left "$end")" 1000

  # With a shorter hold, a client that asks again is served.
  cli FLUSHALL
  sed -i 's/^HOLD = 90/HOLD = 2/' proxy.py
  start_proxy 1000
  : >asked
  chat 900 '1 wait' >killed 2>&1 3>&- &
  wait_until test -s asked
  kill -KILL "$proxy_pid"
  start_proxy 1000
  wait_until is_served
  touch go-on
}

is_served() { [[ $(chat 500 1) == '200 left 999' ]]; }

# bats test_tags=night
@test "fifty requests at once never spend more than the budget" {
  local n used
  start_model
  start_proxy 1000
  for n in {1..50}; do chat 100 "$((n + 40))" >"answer.$n" 3>&- & done
  for n in $(jobs -p); do
    if [[ " ${servers[*]} " != *" $n "* ]]; then wait "$n"; fi
  done
  used=$(awk '{ used += $1 } END { print used }' asked)
  ((used <= 1000))
  assert_equal "$(left)" "$((1000 - used))"
  assert_equal "$(cat answer.* | grep -c '^200')" "$(wc -l <asked)"
  assert_equal "$(cat answer.* | grep -c '^429 later$')" "$((50 - $(wc -l <asked)))"
}

# bats test_tags=night
@test "the proxy asks again if a reply is lost, and nothing counts twice" {
  local direct=$socket
  start_model
  cli SCRIPT LOAD "$(<"$script")"
  # Each second connection gets no reply.
  start_perl_server 'relay($ARGV[0], sub { $_[0] % 2 })' "$socket"
  start_proxy 1000
  # The second, fourth and sixth reply: a settle's, a reserve's, and a settle's.
  assert_equal "$(chat 500 120)" '200 left 880'
  assert_equal "$(chat 500 300)" '200 left 580'
  socket=$direct
  assert_equal "$(left)" 580
}

# What depends on the time, and on how long the commands take.
@test "the output in the README of examples/budgets is correct" {
  start_model
  start_proxy 1000
  export proxy=${proxy%/}
  readme_is_true README.md without_times
}

# settled NUMBER: so many jobs of ann have been settled, and nothing is held.
settled() {
  rlctl inspect --json quota:ann | jq -e --argjson number "$1" '
    .held == 0 and .spent >= $number and (.reservations | map(select(.state == "settled")) | length == $number)'
}

@test "monthly-quota settles what a job takes, however it ends" {
  run -3 ./monthly-quota ann 100 bash -c 'exit 3'
  settled 1
  # It takes longer than it said.
  run -124 ./monthly-quota ann 1 sleep 100
  settled 2
  # It never runs.
  run -75 ./monthly-quota ann 36001 touch ran
  assert_line --partial 'this job may take 36001.'
  assert_line 'No month has so many.'
  RLCTL_URL=unix:///nowhere run -3 ./monthly-quota ann 1 touch ran
  assert_output --partial 'cannot connect'
  assert [ ! -e ran ]
}
