# needs: server
load ../support/common

# Whatever bytes keys, members, log lines, scripts, file names and the server's replies have: what rlctl prints is
# UTF-8, holds no character that a terminal interprets, and is one JSON object on each line with --json.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cd "$BATS_TEST_TMPDIR" || return
}

# Terminal commands, in C0 and C1; text that would run backwards; format directives; line ends; what shells, JSON and
# Prometheus quote.
hostile=(
  $'\e[2J\e[31mred' $'\e]0;title\a' $'\eP+q544e\e\\' $'\b\b\b\x7f' $'\xc2\x9b31m\xc2\x9d0;t\xc2\x9c'
  $'a\u202eb\u2066c\u200fd\u2028e\u2029f\ufffe' '%s%n%p%99999999d{}{0}{:>9}' $'line\nanother' $'back\rover' $'tab\tv\vf\f'
  $'it\'s "$(x)" `y` \\' '"},{"a":[' $'\x01\x02\x1f'
)
# Bytes that are not UTF-8, which JSON cannot hold.
not_utf8=($'\xff\xfe\xc3' $'\xed\xa0\x80\xf4\x90\x80\x80')
# Normally all of each kind in one text.
if [[ $(scaled 0 1) == 1 ]]; then
  hostile+=("${not_utf8[@]}")
else
  hostile=("$(IFS= && echo "${hostile[*]}")" "$(IFS= && echo "${not_utf8[*]}${hostile[0]}")")
fi

# shows ARGUMENT…: runs rlctl, whose output goes to the file shown, which all_is_clean checks. Sets $status.
shows() { shows_in shown rlctl "$@"; }

# shows_json ARGUMENT…: the same with --json, in the file json.
shows_json() { shows_in json rlctl "$@" --json; }

# both ARGUMENT…: as text and as JSON.
both() {
  shows "$@"
  shows_json "$@"
}

# shows_in FILE COMMAND…
shows_in() {
  local file=$1
  shift
  status=0
  { printf '\nran: ' && printf '%q ' "$@" && echo; } >>"$file"
  "$@" >>"$file" 2>&1 || status=$?
  ((status < 124)) || fail "status $status of: $(tail -n 30 "$file" | tail -c 2000)"
}

# Fails, showing the command and the line, unless what was shown is UTF-8 without such characters, whatever the status
# of the commands was, and everything but warnings in the file json is JSON, one object on each line.
all_is_clean() {
  touch shown json
  perl -e '
    use strict;
    my ($bad, $command) = 0;
    while (my $line = <>) {
      if ($line =~ /^ran: /) { $command = $line; next }
      my $text = $line;
      my $is_utf8 = utf8::decode($text);
      # A line end in a text begins no line: the text of $hostile goes on with this word.
      next if $is_utf8 && $text !~ /[^\P{Cc}\t\n]|[\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]|^another/;
      $line =~ s/([^\x20-\x7e\n])/sprintf "<%02x>", ord $1/ge;
      print map { substr($_, 0, 2000), "\n" } $command, $line;
      $bad = 1;
    }
    exit $bad' shown json || fail 'not clean'
  grep -avE '^(rlctl: |  hint: |ran: |$)' json | gojq -es 'all(type == "object")' >/dev/null || fail "not JSON: $PWD/json"
}

@test "keys" {
  local key limits=(--limit 5/60s --algorithm gcra)
  for key in "${hostile[@]}"; do
    both check "$key" "${limits[@]}"
    both check "$key" --limit 5/60s --limit 9/1h
    shows check --batch "${limits[@]}" <<<"$key"
    both inspect "$key"
    shows debug gcra "$key" "${limits[@]}" --trace
    printf '%s' "$key" | redis-cli -s "$socket" -x SADD members >/dev/null
    cli PERSIST "$key" >/dev/null
    cli SET "text:$key" "$key" >/dev/null
    cli SET "digits:$key" 17 EX 100000 >/dev/null
    both inspect "text:$key"
    both reset "$key" --dry-run
    both reset "text:$key"
  done
  both list
  shows_json list --match '*'
  both audit
  both reset --match '*' --dry-run
  ((${#hostile[@]} * 3 <= $(cli DBSIZE))) || fail "only $(cli DBSIZE) keys"
  all_is_clean
}

@test "members and texts, of every type" {
  local i=0 text key lapse=$(($(date +%s) + 100000))000000
  for text in "${hostile[@]}"; do
    i=$((i + 1))
    cli SET "string:$i" "$text" >/dev/null
    cli RPUSH "list:$i" "$text" 1700000000000000 >/dev/null
    cli ZADD "zset:$i" 1700000000000000 "$text" >/dev/null
    cli ZADD "leases:$i" "$lapse" "lease:$text" -3 limit >/dev/null
    cli EXPIRE "leases:$i" 100000 >/dev/null
    cli HSET "hash:$i" "$text" "$text" tokens "$text" ts "$text" >/dev/null
    cli XADD "stream:$i" '*' "$text" "$text" >/dev/null
    for key in "string:$i" "list:$i" "zset:$i" "leases:$i" "hash:$i" "stream:$i"; do
      both inspect "$key"
      both check "$key" --limit 5/60s
    done
    both quota "leases:$i" --limit 5/60s
    both reset "leases:$i" --holder "$text" --dry-run
  done
  both list
  assert_equal "$(rlctl list --json | wc -l)" "${#hostile[@]}"
  both audit
  all_is_clean
}

@test "lines of logs, their names, keys and fields" {
  local text log
  for text in "${hostile[@]}"; do
    log="log ${text//\//}"
    { printf '1700000000 %s\n' "$text" "$text" "a$text"; printf '%s\n' "$text"; } >"$log"
    both burst --replay "$log" --format epoch --limit 1/60s --model
    { printf 'time,key\n1700000000,"%s"\n' "${text//\"/\"\"}"; printf '%s\n' "$text"; } >"$log"
    both burst --replay "$log" --format csv --limit 1/60s --model
    gojq -n --arg key "$text" '{time: 1700000000, key: $key}' -c | tee "$log" >>"$log.2"
    both burst --replay "$log" --limit 1/60s --model
    both burst --replay "$log" --limit 1/60s --model --fields "time=$text"
    printf '%s - %s [10/Oct/2000:13:55:36 -0700] "%s" 200 1 "%s" "%s"\n' \
      "$text" "$text" "$text" "$text" "$text" >"$log"
    both burst --replay "$log" --format combined --limit 1/60s --model --strict
    rm -f "$log" "$log.2"
  done
  all_is_clean
}

@test "sources of scripts, their names, errors, messages and replies" {
  local text name i=0 options=(--limit 5/60s)
  for text in "${hostile[@]}"; do
    i=$((i + 1))
    name="s${text//\//}.lua"
    printf '%s' "$text" >bytes
    # As a Lua string, byte by byte.
    text=$(perl -0777 -ne 'print map { sprintf "\\%03d", ord } split //' bytes)
    printf 'local s = "%s"\nredis.log(redis.LOG_WARNING, s)\nredis.call("SET", KEYS[1] .. s, s)\nreturn s\n' \
      "$text" >"$name"
    shows debug "$name" k --trace
    both lint "$name" --allowed-when nonzero
    both burst steady "$name" --allowed-when nonzero "${options[@]}" --requests 2
    printf 'error("%s")\n' "$text" >"$name"
    shows debug "$name" k --trace
    both lint "$name"
    both burst steady "$name" "${options[@]}" --requests 2
    printf 'return redis.error_reply("%s")\n' "$text" >"$name"
    shows debug "$name" k --trace
    both burst steady "$name" "${options[@]}" --requests 2
    # The bytes themselves, in a comment, and where they do not compile.
    { printf -- '--[[ ' && cat bytes && printf ' ]] return 1\n'; } >"$name"
    shows debug "$name" k --trace
    both lint "$name"
    { printf 'return ' && cat bytes; } >"$name"
    shows debug "$name" k --trace
    both lint "$name"
    both burst steady "$name" "${options[@]}" --requests 2
    rm -f "$name"
  done
  all_is_clean
}

@test "arguments and names of options, commands and files" {
  local text
  # The last one is valid in a configuration.
  for text in "${hostile[@]}" $'\xc2\x9b31m\u202e%s%n'; do
    both check k --limit "$text"
    both check k "$text" --limit 5/60s
    both check k --limit 5/60s "--$text"
    both check k --limit 5/60s --algorithm "$text"
    both "$text"
    both -u "$text" check k --limit 5/60s
    both -u "redis://a:b@h/$text" check k --limit 5/60s
    both -h "$text.invalid" check k --limit 5/60s --timeout 1s
    both check k --policy "$text"
    both burst --replay "$text"
    both debug "$text" k --trace
    both reset --restore "$text"
    printf 'url = "%s"\n[policy."%s"]\nkey = "%s"\nlimit = "%s"\n' "$text" "$text" "$text" "$text" >config.toml
    RLCTL_CONFIG=$PWD/config.toml both config check
    RLCTL_CONFIG=$PWD/config.toml both check k --policy x
  done
  all_is_clean
}

# in_toml TEXT: as a string of TOML. A NUL ends the input of perl's -0 switch, and is in no TEXT.
in_toml() { printf '%s' "$1" | perl -CS -0 -ne 'printf "\"%s\"", join "", map { sprintf "\\U%08x", ord } split //'; }

@test "names and keys of libraries and policies, in every command" {
  local text name
  for text in "${hostile[@]}"; do
    # TOML has no other bytes.
    iconv -f utf-8 -t utf-8 <<<"$text" >/dev/null 2>&1 || continue
    name=$(in_toml "$text")
    cat >config.toml <<END
[library.$name]
key = "lib:*"
type = "string"
value = "count"
limit = "7/60s"

[policy.$name]
key = "policy:{id}"
limit = "5/60s"
END
    cli SET lib:a 9 EX 50 >/dev/null
    cli SET lib:b 9 >/dev/null
    export RLCTL_CONFIG=$PWD/config.toml
    both check --policy "$text" --set id=1
    both list
    both list --totals
    both list '*'
    both inspect lib:a
    both inspect lib:b
    both inspect policy:1
    both audit
    both quota --policy "$text" lib:a
    both quota lib:a
    both reset lib:a lib:b --dry-run
    both reset --match 'lib:*' --force --save saved --yes
    both reset --restore saved
    both config check
    both config show
    both config policies
    rm -f saved
    unset RLCTL_CONFIG
  done
  grep -q 'lib:a' shown || fail 'no key was shown'
  all_is_clean
}

# shellcheck disable=SC2016 # $text is gojq's
@test "all fields of a saved file, as it is restored, with --dry-run and when keys exist" {
  local text dump saved
  cli SET source value >/dev/null
  rlctl reset --force source --save source.jsonl >/dev/null
  dump=$(gojq -r 'select(.dump_base64).dump_base64' source.jsonl)
  for text in "${hostile[@]}"; do
    gojq -cn --arg text "$text" --arg dump "$dump" '
      {key: "k", type: "string", library: null, algorithm: null, expires_at_ms: null, dump_base64: $dump} +
        ({type: $text}, {library: $text}, {algorithm: $text}, {key: $text},
          {type: $text, library: $text, algorithm: $text, key: $text})' >saved.jsonl
    while IFS= read -r -u 9 saved; do
      printf '%s\n' '{"format":"rlctl saved keys","version":1}' "$saved" >file.jsonl
      both reset --restore file.jsonl --dry-run
      both reset --restore file.jsonl
      cli SET k other >/dev/null
      both reset --restore file.jsonl
      cli DEL k >/dev/null
    done 9<saved.jsonl
    # A file that is refused.
    printf '{"format":"rlctl saved keys","version":1}\n%s\n{}\n' "$text" >file.jsonl
    both reset --restore file.jsonl
    { gojq -cn --arg text "$text" '{format: "rlctl saved keys", version: $text}'; } >file.jsonl
    both reset --restore file.jsonl
  done
  grep -q '^would-restore key=k' shown || fail 'nothing was restored'
  all_is_clean
}

@test "reservations and commands that are run" {
  local text id ids number
  for text in "${hostile[@]}"; do
    # An ID has at most 20 bytes.
    mapfile -d '' -t ids < <(printf '%s' "$text" | perl -0777 -ne 'print "$_\0" for /.{1,20}/gs')
    # A third of them; all at night.
    for number in "${!ids[@]}"; do its_turn "$number" 3 || unset "ids[number]"; done
    both settle "b:$text" unknown 1 # of a key that does not exist
    for id in "${ids[@]}"; do
      both check "b:$text" --limit 100/60s --reserve 1 --hold 60s --id "$id"
      both check "b:$text" --limit 100/60s --reserve 2 --hold 60s --id "$id"
      both reset "b:$text" --holder "$id" --dry-run
    done
    both inspect "b:$text"
    for id in "${ids[@]}"; do
      both settle "b:$text" "$id" 1
      both settle "b:$text" "$id" 2
    done
    both settle "b:$text" unknown 1
    both inspect "b:$text"
    both quota "b:$text"
    both run "h:$text" --limit 1/60s -- true
  done
  both list
  for text in ' state=held' ' was made with 1, not 2' '^would-remove ' ' was=held actual=1' ' settled with '; do
    grep -qae "$text" shown || fail "nothing has $text"
  done
  all_is_clean
}

@test "each format of a report, with keys of logs and names of scripts" {
  local text name format script options
  for text in "${hostile[@]}"; do
    name="s${text//\//}.lua"
    printf 'return 1\n' >"$name"
    gojq -cn --arg key "$text" '{time: (1700000000, 1700000001, 1700000002), key: $key}' >log
    for format in html svg json jsonl; do
      for script in "$name" ''; do
        options=(--replay log --limit 1/60s --model)
        [[ -z $script ]] || options=(--replay log --limit 1/60s "$script" --allowed-when nonzero)
        shows burst "${options[@]}" -q -o "report.$format"
        shows_in shown cat "report.$format"
        rm "report.$format"
      done
    done
    shows check --batch --limit 5/60s --textfile metrics.prom <<<"$text"
    shows_in shown cat metrics.prom
    shows quota "$text" --limit 5/60s --textfile quota.prom
    shows_in shown cat quota.prom
    rm -f "$name" ./*.prom
  done
  for text in '<svg' '<!doctype html' '# TYPE rlctl_' '"allowed":'; do
    grep -qaiF "$text" shown || fail "nothing has $text"
  done
  all_is_clean
}

@test "what a program that is tested writes" {
  local text
  for text in "${hostile[@]}"; do
    printf '%s' "$text" >bytes
    printf '#!/bin/sh\ncat bytes; cat bytes >&2; exit 1\n' >program
    printf '#!/bin/sh\nread -r line; cat bytes; echo; cat bytes >&2\n' >other
    chmod +x program other
    both burst steady --exec ./program --limit 1/60s --requests 2
    both burst steady --exec ./other --limit 1/60s --requests 2
    both lint --exec ./program
  done
  all_is_clean
}

# limited ARGUMENT…: shows, with little memory: a megabyte may be held a few times, also escaped, but not often.
limited() {
  local limit='ulimit -v 262144; '
  # A sanitizer needs more address space.
  if [[ $RLCTL_BUILD == *sanitize* ]]; then limit=''; fi
  shows_in shown bash -c "$limit"'exec rlctl "$@"' - "$@"
}

@test "a megabyte, as a key, a member, a log line, a reply, an error and a source" {
  local kind key number=0
  perl -e 'print "x" x 1048576' >plain
  perl -e 'print "\e[31m\xff" x 174763' >escapes
  for kind in plain escapes; do
    # One of the two; both at night.
    its_turn "$((number++))" 2 || continue
    cli FLUSHALL >/dev/null
    limited check --batch --limit 5/60s <"$kind"
    limited check --batch --json --limit 5/60s <"$kind"
    redis-cli -s "$socket" -x RPUSH members 1700000000000000 <"$kind" >/dev/null
    redis-cli -s "$socket" -x ZADD leases 4000000000000000 <"$kind" >/dev/null
    redis-cli -s "$socket" -x HSET hash tokens <"$kind" >/dev/null
    redis-cli -s "$socket" -x SET text <"$kind" >/dev/null
    for key in members leases hash text; do
      limited inspect "$key"
      limited check "$key" --limit 5/60s
    done
    limited list
    limited list --json
    limited audit --json
    limited reset --match '*' --save "saved.$kind"
    limited reset --restore "saved.$kind"
    { printf '1700000000 ' && cat "$kind"; printf '\n1700000000 a\n1700000001 a\n'; } >log
    limited burst --replay log --limit 1/60s --model
    { printf -- '-- ' && cat "$kind" && printf '\nerror(("x"):rep(1048576))\n'; } >script.lua
    limited debug script.lua k --trace
    limited lint script.lua
    limited burst steady script.lua --limit 5/60s --requests 2
  done
  all_is_clean
  refute grep -E 'bad_alloc|out of memory' shown
}

@test "a server is not followed to a host whose name has a NUL" {
  local code
  for code in MOVED ASK; do
    start_fake_server "-$code 7629 127.0.0.1\\0.example.org:80\\r\\n"
    fails 3 'check: a server refers to redis://127.0.0.1%00.example.org:80, whose name has a NUL; the command was not sent' \
      rlctl check k --limit 5/60s
    stop_servers
  done
}

# crashes COMMAND…: ends the command, once it sleeps, by a signal that leaves a core.
crashes() { run -0 ends_by SEGV 'sleeps $command_pid' "$@"; }

@test "a process that has a password leaves no core" {
  start_fake_server ''
  ulimit -c unlimited 2>/dev/null || skip 'needs a system that makes cores'
  crashes rlctl check k --limit 5/60s
  [[ $output == *core ]] || skip 'needs a system that makes cores'
  export RLCTL_URL=unix://:secret@$socket
  crashes rlctl check k --limit 5/60s
  assert_output 'signal 11'
  (umask 077 && echo secret >password)
  crashes rlctl check k --limit 5/60s -u "unix://$socket" --password-file password
  assert_output 'signal 11'
  REDISCLI_AUTH=secret crashes rlctl check k --limit 5/60s -u "unix://$socket"
  assert_output 'signal 11'
}
