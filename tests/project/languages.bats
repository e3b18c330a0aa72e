# needs: server
load ../support/common
load ../support/readme

# The programs of examples/languages, copied to this test's folder, where their timeouts are two minutes.

setup() {
  cp -r "$project/examples/languages" "$BATS_TEST_TMPDIR/languages"
  cd "$BATS_TEST_TMPDIR/languages"
  mkdir short
  cp limit.* nginx/* short
  sed -i -E 's/^TIMEOUT = 1 /TIMEOUT = 120 /; s/^(const TIMEOUT = 1)/\120/; s/^(const timeout = 1)/\120/
    s/[{]\.tv_sec = 1[}]/{.tv_sec = 120}/; s/^(local timeout = 1)/\120/' limit.* nginx/limit.lua
  script=$project/lua/sliding-window-log.lua
}

# Into the current folder, where node finds it.
install_ioredis() {
  needs npm
  timeout 120 npm install --fetch-retries 0 --no-audit --no-fund --prefix . ioredis >log 2>&1 ||
    skip 'needs an npm registry that answers'
}

# start_one_answer_server REPLY [HANGS_UP]: a server that replies to each call of a script with REPLY.
start_one_answer_server() {
  start_perl_server '
    my ($reply, $hangs_up) = @ARGV;
    serve(sub { $_[0] =~ /^EVAL/i ? ($reply, $hangs_up) : $_[0] =~ /^INFO/i ? "\$0\r\n\r\n" : "+OK\r\n" })' "$@"
}

never=$'*6\r\n:0\r\n:5\r\n:-1\r\n:0\r\n:0\r\n:1\r\n'

# How often start_one_answer_server's server was asked.
asked() { grep -aciE $'^EVAL(SHA)?\r$' "$socket.came" || true; }

# decides_as_rlctl LIMIT/SECONDS…: the answers of 12 requests, of which the last are denied, are those of rlctl check,
# and so are the keys. start begins the program, ask sends a request to it, stop ends it.
decides_as_rlctl() {
  local limit options=() n expected key=user${RANDOM}
  for limit; do options+=(--limit "${limit}s"); done
  cli FLUSHALL >/dev/null
  # As `allowed remaining=4`.
  mapfile -t expected < <(printf 'other\n%.0s' {1..12} | rlctl check "${options[@]}" --batch |
    sed -E 's/ .*(remaining=[0-9]+).*/ \1/')
  start "$@"
  for n in {0..11}; do
    if ((n == 2 || n == 10)); then cli SCRIPT FLUSH >/dev/null; fi
    ask "$key"
    assert_equal "${answer%% retry_after=*}" "${expected[n]}"
    if [[ $answer == denied* ]]; then assert_regex "$answer" ' retry_after=([1-9][0-9]*|0)\.?[0-9]*s$'; fi
    refute_regex "$answer" '=0(\.0+)?s$'
  done
  # The time lies between what rlctl says before and after, but for the rounding of what is printed.
  local before after
  before=$(retry_after "$key" "${options[@]}")
  ask "$key"
  after=$(retry_after "$key" "${options[@]}")
  jq -en --argjson before "$before" --argjson after "$after" --argjson rounding "$rounding" \
    --arg answer "$(sed -E 's/.*retry_after=(.*)s$/\1/' <<<"$answer")" '
    ($answer | tonumber * 1e6) as $us | $after - $rounding <= $us and $us <= $before + $rounding' ||
    fail "$before, then $answer, then $after"
  stop
  assert_regex "$answer" ^denied
  # Every unit is stored under the key where rlctl stores it.
  run -1 rlctl check --peek "$prefix$key" "${options[@]}"
  assert_output --partial ' remaining=0 '
  assert_equal "$(cli KEYS "*$key*" | sort)" "$(cli KEYS '*other*' | sed "s/other/$prefix$key/" | sort)"
}

# retry_after KEY OPTION…: the microseconds that rlctl says for this key of the program. It is denied, which
# changes nothing.
retry_after() {
  (rlctl check --json "$prefix$1" "${@:2}" || (($? == 1))) | jq .retry_after_us
}

prefix='' rounding=1000
start() {
  coproc PROGRAM { exec "${program[@]}" "$socket" "$script" "$@" 3>&- 4>&- 2>"$BATS_TEST_TMPDIR/errors"; }
  pid=$PROGRAM_PID
}
ask() {
  echo "$1" >&"${PROGRAM[1]}"
  read -r -t 120 answer <&"${PROGRAM[0]}" || fail "no answer: $(cat "$BATS_TEST_TMPDIR/errors")"
}
stop() {
  kill "$pid"
  wait "$pid" 2>/dev/null || true
}

# gives_up PROGRAM…: the program ends by itself, without an answer.
gives_up() {
  run_with_timeout "$@" "$socket" "$script" 5/3600 <<<k
  ((status != 0 && status != 124 && status != 137)) || fail "status $status: $output"
  refute_output --partial remaining=
}

# holds_the_contract SHORT PROGRAM…: what is asked of each. SHORT is the program with its own timeout.
holds_the_contract() {
  local short=$1
  program=("${@:2}")
  start_server
  decides_as_rlctl 5/3600
  decides_as_rlctl 5/3600 8/86400
  decides_as_rlctl 9/3600 7/86400

  start_one_answer_server "$never"
  run_with_timeout -0 "${program[@]}" "$socket" "$script" 5/3600 <<<k
  assert_output 'denied remaining=5 retry_after=never'

  # A request that may have been counted is not sent again.
  start_one_answer_server '' 1
  gives_up "${program[@]}"
  assert_equal "$(asked)" 1
  start_one_answer_server ''
  program[-1]=$short
  gives_up "${program[@]}"
  (($(asked) <= 1))
}

@test "C: limit.c decides as rlctl check does, and sends nothing twice" {
  local compile=(gcc -std=c99 -Wall -Wextra -Werror)
  "${compile[@]}" -o limit limit.c -lhiredis
  "${compile[@]}" -o short/limit short/limit.c -lhiredis
  holds_the_contract short/limit ./limit
}

# bats test_tags=night
@test "Go: limit.go decides as rlctl check does, and sends nothing twice" {
  export GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS=
  needs golang-go go
  needs golang-github-gomodule-redigo-dev go list github.com/gomodule/redigo/redis
  go build -o limit limit.go
  go build -o short/limit short/limit.go
  holds_the_contract short/limit ./limit
}

# bats test_tags=night
@test "node: limit.mjs decides as rlctl check does, and sends nothing twice" {
  [[ ${RLCTL_TEST_ALL-} ]] || skip 'needs the npm registry, which RLCTL_TEST_ALL=1 allows'
  needs nodejs node
  install_ioredis
  holds_the_contract short/limit.mjs node limit.mjs
}

# bats test_tags=night
@test "PHP: limit.php decides as rlctl check does, and sends nothing twice" {
  needs php-cli php
  needs php-redis php -r 'new Redis;'
  holds_the_contract short/limit.php php limit.php
}

@test "Python: limit.py decides as rlctl check does, and sends nothing twice" {
  holds_the_contract short/limit.py python3 limit.py
}

# quick_start LANGUAGE: the block that follows this language in the QUICK START of rlctl-scripts(7), with the test's
# server.
quick_start() {
  awk -v start="^In $1, with " '
    $0 ~ start { found = 1 }
    found && /^```$/ { if (open) exit; open = 1; next }
    open' "$project/man/rlctl-scripts.7.scd" |
    sed "s|limiter = Redis()|limiter = Redis(unix_socket_path='$socket')|; s|new Redis()|new Redis('$socket')|"
}

@test "Python: the quick start of rlctl-scripts(7) runs, and has ten lines" {
  start_server
  quick_start Python >start.py
  assert grep -q "$socket" start.py
  (($(grep -c . start.py) <= 10))
  cd "$project"
  run -0 python3 "$BATS_TEST_TMPDIR/languages/start.py"
  assert_output '4 left'
  run -0 rlctl check -q login:alice --limit 5/60s --cost 3
  run -0 python3 "$BATS_TEST_TMPDIR/languages/start.py"
  assert_output '0 left'
  run -0 python3 "$BATS_TEST_TMPDIR/languages/start.py"
  assert_output --regexp '^retry in [0-9.]+ s$'
}

# bats test_tags=night
@test "node: the quick start of rlctl-scripts(7) runs, and has ten lines" {
  start_server
  quick_start JavaScript >start.mjs
  assert grep -q "$socket" start.mjs
  (($(grep -c . start.mjs) <= 10))
  [[ ${RLCTL_TEST_ALL-} ]] || skip 'needs the npm registry, which RLCTL_TEST_ALL=1 allows'
  needs nodejs node
  install_ioredis
  cd "$project"
  run -0 node "$BATS_TEST_TMPDIR/languages/start.mjs"
  assert_output 4
  run -0 node "$BATS_TEST_TMPDIR/languages/start.mjs"
  assert_output 3
}

# bats test_tags=night
@test "Ruby: limit.rb decides as rlctl check does, and sends nothing twice" {
  needs ruby
  needs ruby-redis ruby -e 'require "redis"'
  holds_the_contract short/limit.rb ruby limit.rb
}

# bats test_tags=night
@test "nginx: the locations decide as rlctl check does, and nothing is sent twice" {
  needs nginx-light nginx
  needs libnginx-mod-http-lua test -e /usr/lib/nginx/modules/ngx_http_lua_module.so
  needs lua-nginx-redis test -e /usr/share/lua/5.1/nginx/redis.lua
  export LIMIT_SCRIPT=$script
  http=$BATS_TEST_TMPDIR/http
  rounding=1000000
  # nginx makes its folders even if it needs none of them, in the system's folders unless it is told others.
  # A worker of another user could not read this folder.
  sed -i "s|^http {|&$(printf ' %s_temp_path tmp;' client_body proxy fastcgi uwsgi scgi)|
    s|listen .*;|listen unix:$http;|; \$a master_process off;" nginx/nginx.conf short/nginx.conf
  start_nginx() {
    rm -f "$http"
    LIMIT_REDIS=unix:$socket start_bound nginx -e stderr -p "$PWD/$1" -c nginx.conf 2>"$http.log"
    pid=$server_pid
    wait_until curl -s --max-time 10 -o body --unix-socket "$http" http://localhost/
  }
  start() {
    location=search
    if (($# > 1)); then location=login; fi
    prefix=$location:
    start_nginx nginx
  }
  get() {
    curl -s --max-time 120 -D - -o body --unix-socket "$http" "localhost/$location?user=$1" | tr -d '\r'
  }
  ask() {
    # The status, then the headers by their names.
    answer=$(get "$1" | sed -nE '
      1s/.* 200 .*/allowed/p; 1s/.* 429 .*/denied/p; 1s/.* 503 .*/an error/p
      s/^X-RateLimit-Remaining: /remaining=/p; s/^Retry-After: (.*)/retry_after=\1s/p' | sort | xargs)
  }

  start_server
  decides_as_rlctl 5/3600
  decides_as_rlctl 5/3600 8/86400
  start_one_answer_server '' 1
  start 5/3600
  ask k
  assert_equal "$answer" "an error"
  assert_equal "$(asked)" 1
  stop
  start_one_answer_server ''
  start_nginx short
  ask k
  assert_equal "$answer" "an error"
  (($(asked) <= 1))
  stop
  start_one_answer_server "$never"
  start 5/3600
  ask k
  assert_equal "$answer" 'denied remaining=5'
}

@test "the output in the README of examples/languages is correct" {
  start_server
  export script
  readme_is_true README.md without_times
}

@test "the README of examples/languages names each program, which has fewer than 60 lines of code" {
  local program
  for program in limit.* nginx/limit.lua; do
    grep -qF "]($program)" README.md || fail "no $program"
    (($(grep -cvE '^ *($|//|#|--|/?\*)' "$program") < 60)) || fail "$program is longer"
  done
}
