# needs: server
load ../../support/common

# Programs of `rlctl burst --exec` that keep their state in Redis, or ask for the time themselves.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  # A counter for each key, which begins with its first request; SECONDS=N on its command line: with a TTL in seconds.
  cat >counter.py <<'PYTHON'
import json, os, re, socket, sys
_, password, host, port, _ = re.split('redis://default:|@|:|/0', os.environ['RLCTL_REDIS_URL'])
redis = socket.create_connection((host, int(port)))
def call(*words):
    words = [str(word).encode() for word in words]
    redis.sendall(b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(word), word) for word in words))
    return redis.recv(4096)
assert call('AUTH', password) == b'+OK\r\n'
for line in sys.stdin:
    request = json.loads(line)
    if 'reset' in request: continue
    count = int(call('INCR', request['key'])[1:])
    if count == 1: call('PEXPIRE', request['key'], request['window_us'] // 1000)
    print(int(count <= request['limit']), flush=True)
PYTHON
  cat >wall.py <<'PYTHON'
import json, sys, time
now_us = {'wall': lambda: time.time_ns() // 1000, 'monotonic': lambda: time.monotonic_ns() // 1000}[sys.argv[1]]
counts = {}
for line in sys.stdin:
    request = json.loads(line)
    if 'reset' in request:
        counts.clear()
        continue
    window = request['key'], now_us() // request['window_us']
    allowed = counts.get(window, 0) < request['limit']
    counts[window] = counts.get(window, 0) + allowed
    print(json.dumps({'allowed': allowed}), flush=True)
PYTHON
}

# against_fixed OPTION…: the program decides each of some requests as fixed-window does.
traffic=(poisson --keys 3 --limit 5/10s --duration 500s --timeout 60s)
against_fixed() {
  run -0 rlctl burst "${traffic[@]}" --compare fixed-window --model --json "$@"
  assert_equal "$(gojq -c '.compare.differs, (.runs[0].sent > 500)' <<<"$output")" $'false\ntrue'
}

@test "the Redis server of a program has the time of its requests" {
  # The window begins with the first request; at 110 s its key lives through its last millisecond.
  printf '%s k\n' 100 101 102 103 104 105 109.999 110 110.002 111 119 125 >requests.log
  run -0 as jsonl rlctl burst --replay requests.log --limit 5/10s --exec 'python3 counter.py' --timeout 60s
  assert_equal "$(gojq -r 'if .allowed then 1 else 0 end' <<<"$output" | tr -d '\n')" 111110001111
}

# bats test_tags=night
@test "what a program keeps in Redis is gone for the next schedule" {
  run -0 rlctl adversary --tries 3000 --limit 5/60s --exec 'python3 counter.py' --json --timeout 60s
  assert_equal "$(gojq -c '.runs[0] | [.most.worst.allowed > 5, .most.worst.allowed <= 10]' <<<"$output")" '[true,true]'
}

# bats test_tags=night
@test "a program that lets several requests be in flight gets them one by one once it has connected" {
  { echo "print('{\"hello\":{\"pipeline\":64}}', flush=True)"; cat counter.py; } >pipelined.py
  run -0 rlctl burst "${traffic[@]}" --exec 'python3 counter.py' --exec 'python3 pipelined.py' --json
  assert_equal "$(gojq -c '.runs | map([.allowed, .denied]) | .[0] == .[1]' <<<"$output")" true
  cat >late.py <<'PYTHON'
import os, re, socket, sys
print('{"hello":{"pipeline":64}}', flush=True)
for number, line in enumerate(sys.stdin):
    if number == 100:
        _, _, host, port, _ = re.split('redis://default:|@|:|/0', os.environ['RLCTL_REDIS_URL'])
        redis = socket.create_connection((host, int(port)))
    print(1, flush=True)
PYTHON
  run -5 --separate-stderr rlctl burst "${traffic[@]}" --exec 'python3 late.py'
  assert_regex "$stderr" 'late.py has connected to RLCTL_REDIS_URL after its first answer'
}

@test "a shell script asks its server by redis-cli" {
  cat >limiter.sh <<'SH'
while read -r line; do
  case $line in *reset*) continue ;; esac
  count=$(redis-cli --no-auth-warning -u "$RLCTL_REDIS_URL" INCR requests)
  if [ "$count" -le 3 ]; then echo 1; else echo 0; fi
done
SH
  # The variable takes the place of one that the user has.
  RLCTL_REDIS_URL=redis://127.0.0.1:1 run -0 rlctl burst --limit 3/60s --exec 'sh limiter.sh' --json --timeout 60s
  assert_equal "$(gojq -c '.runs[0] | [.sent, .allowed]' <<<"$output")" '[6,3]'
}

@test "without a server on this machine, a program runs without one" {
  mkdir bin
  ln -s "$(command -v sh)" "$(command -v jq)" bin/
  echo 'while read -r line; do echo ${RLCTL_REDIS_URL:+0}${RLCTL_REDIS_URL:-1}; done' >asks.sh
  PATH=$PWD/bin:$(dirname "$(command -v rlctl)") run -0 rlctl burst --limit 3/60s --exec 'sh asks.sh' --json
  assert_equal "$(gojq '.runs[0].allowed' <<<"$output")" 6
}

@test "a server that does not follow the virtual clock is an error" {
  printf '#!/bin/sh\nunset LD_PRELOAD\nexec -a redis-server %s "$@"\n' "$(server_binary)" >server
  sed -i '1s/sh$/bash/' server
  chmod +x server
  RLCTL_REDIS_SERVER=$PWD/server run -5 --separate-stderr rlctl burst --exec 'python3 counter.py'
  assert_regex "$stderr" 'the private server does not follow the virtual clock: TIME is '
  RLCTL_REDIS_SERVER=$PWD/server run -0 rlctl burst steady --rate 100/s --duration 100ms --clock real -q \
    --exec 'python3 counter.py' --timeout 60s
}

@test "--exec-clock gives a program the time of each request as its own" {
  against_fixed --exec 'python3 wall.py wall' --exec-clock wall
  against_fixed --exec 'python3 wall.py monotonic' --exec-clock all
  run -1 rlctl burst "${traffic[@]}" --compare fixed-window --model -q --exec 'python3 wall.py wall'
  run -1 rlctl burst "${traffic[@]}" --compare fixed-window --model -q --exec 'python3 wall.py monotonic' \
    --exec-clock wall
}

# bats test_tags=night
@test "--exec-clock gives Node.js the time of each request" {
  needs node
  cat >wall.js <<'JS'
const counts = new Map();
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const {reset, key, limit, window_us} = JSON.parse(line);
  if (reset) return counts.clear();
  const window = `${key} ${Math.floor(Date.now() * 1000 / window_us)}`, count = (counts.get(window) ?? 0) + 1;
  if (count <= limit) counts.set(window, count);
  process.stdout.write(count <= limit ? '1\n' : '0\n');
});
JS
  against_fixed --exec 'node wall.js' --exec-clock wall
}

# bats test_tags=night
@test "--exec-clock gives Java the time of each request" {
  needs java
  cat >Wall.java <<'JAVA'
import java.io.*;
import java.util.*;
import java.util.regex.*;

class Wall {
  public static void main(String[] args) throws IOException {
    var request = Pattern.compile("\"key\":\"(.*?)\".*\"limit\":(\\d+),\"window_us\":(\\d+)");
    var counts = new HashMap<String, Integer>();
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = lines.readLine()) != null;) {
      var found = request.matcher(line);
      if (!found.find()) {
        counts.clear();
        continue;
      }
      var window = found.group(1) + System.currentTimeMillis() * 1000 / Long.parseLong(found.group(3));
      int count = counts.merge(window, 1, Integer::sum);
      System.out.println(count <= Integer.parseInt(found.group(2)) ? 1 : 0);
    }
  }
}
JAVA
  against_fixed --exec 'java Wall.java' --exec-clock wall
}
