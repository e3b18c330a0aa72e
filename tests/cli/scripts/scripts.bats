# needs: server
load ../../support/common

# rlctl scripts: list, show, load, export, call.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cli SCRIPT FLUSH >/dev/null
  cd "$BATS_TEST_TMPDIR" || return
}

algorithms='fixed-window sliding-window-log sliding-window-zset sliding-window-counter token-bucket gcra leaky-bucket
budget concurrency'

@test "list has a line for each script, with its SHA1 and its size, and needs no server" {
  RLCTL_URL=unix:///nowhere run -0 rlctl scripts list
  assert_line --index 0 --regexp '^name +sha1 +bytes +keys +arguments$'
  local file name
  for file in "$project"/lua/*.lua; do
    name=$(basename "$file" .lua)
    assert_line --regexp "^$name +$(sha1sum <"$file" | cut -d' ' -f1) +$(wc -c <"$file") "
  done
  RLCTL_URL=unix:///nowhere run -0 rlctl scripts list --json
  assert_equal "$(gojq -r '.name + " " + .sha1' <<<"$output" | sort)" "$(
    for file in "$project"/lua/*.lua; do
      echo "$(basename "$file" .lua) $(sha1sum <"$file" | cut -d' ' -f1)"
    done | sort)"
  assert_equal "$(gojq -c 'select(.name == "gcra") | [.keys, .arguments]' <<<"$output")" \
    '["1 or more","each key: limit window burst; cost now"]'
}

@test "show prints the source byte for byte" {
  local file
  for file in "$project"/lua/*.lua; do
    RLCTL_URL=unix:///nowhere rlctl scripts show "$(basename "$file" .lua)" | cmp - "$file"
  done
  run -0 rlctl scripts show gcra --json
  assert_equal "$(gojq -r .sha1 <<<"$output")" "$(gojq -rj .text <<<"$output" | sha1sum | cut -d' ' -f1)"
  # As the manual tells to load it.
  run -0 bash -c "rlctl scripts show gcra | redis-cli -s '$socket' -x SCRIPT LOAD"
  assert_output "$(sha1sum <"$project/lua/gcra.lua" | cut -d' ' -f1)"
}

@test "load makes the scripts known to the server" {
  run -0 rlctl scripts load
  local name sha1
  for name in $algorithms; do
    sha1=$(sha1sum <"$project/lua/$name.lua" | cut -d' ' -f1)
    assert_line "loaded name=$name sha1=$sha1 servers=1"
    assert_equal "$(cli SCRIPT EXISTS "$sha1")" 1
  done
  assert_equal "${#lines[@]}" 9
  run -0 rlctl scripts load concurrency gcra --json
  assert_equal "$(gojq -c '[.name, .servers]' <<<"$output" | xargs)" '[concurrency,1] [gcra,1]'
  run -2 rlctl scripts load gcr
  assert_line --index 0 "rlctl: scripts: unknown script 'gcr'; did you mean 'gcra'?"
  RLCTL_URL=unix:///nowhere run -3 rlctl scripts load
  cli ACL SETUSER other reset on nopass +ping >/dev/null
  run -4 rlctl scripts load --user other
  assert_line --partial '+script|load'
  cli ACL DELUSER other >/dev/null
}

@test "export writes the scripts, and does not replace other contents" {
  run -0 rlctl scripts export new/lua
  assert_line 'written file=new/lua/gcra.lua'
  diff -r new/lua "$project/lua"
  echo '-- mine' >new/lua/token-bucket.lua
  rm new/lua/fixed-window.lua
  run -2 rlctl scripts export new/lua
  assert_output "rlctl: scripts: 'new/lua/token-bucket.lua' has other contents
  hint: remove it first; nothing was written"
  [[ ! -e new/lua/fixed-window.lua ]]
  rm new/lua/token-bucket.lua
  run -0 rlctl scripts export new/lua
  assert_line 'written file=new/lua/token-bucket.lua'
  assert_line 'unchanged file=new/lua/gcra.lua'
  diff -r new/lua "$project/lua"
  run -0 rlctl scripts export new/lua --json
  assert_equal "$(gojq -r .result <<<"$output" | uniq)" unchanged
  echo >file
  run -2 rlctl scripts export file
  run -2 rlctl scripts export
  run -2 rlctl scripts export a b
}

# --- call -------------------------------------------------------------------------------------------

@test "call decides as check does, with the same keys" {
  local name options checked
  for name in $algorithms; do
    [[ $name != concurrency ]] || continue
    options=(--limit 2/60s --limit 9/1h --now 1800000000000000 --json)
    for _ in 1 2 3 4; do
      checked=$(rlctl check --algorithm "$name" "${options[@]}" checked || (($? == 1)))
      run rlctl scripts call "$name" "${options[@]}" called
      assert_equal "$status$(gojq -c '[.allowed == 1, .remaining, .retry_after_us, .reset_after_us]' <<<"$output")" \
        "$status$(gojq -c '[.allowed, .remaining, .retry_after_us, .reset_after_us]' <<<"$checked")"
      assert_equal "$(gojq .allowed <<<"$output")" $((1 - status))
    done
    assert_equal "$status" 1
    assert_equal "$(cli DUMP '{called}:60s' | od)" "$(cli DUMP '{checked}:60s' | od)"
    cli FLUSHALL >/dev/null
  done
  run -0 rlctl scripts call sliding-window-log --limit 5/60s --cost 2 --now 1800000000000000 k
  assert_output 'allowed=1 remaining=3 retry_after=0 reset_after=60000000 delay=0 denied_by=0'
  run -1 rlctl scripts call sliding-window-log --limit 5/60s --cost 9 --now 1800000000000000 k
  assert_output 'allowed=0 remaining=3 retry_after=-1 reset_after=60000000 delay=0 denied_by=1'
}

@test "call makes exactly one call" {
  rlctl scripts load gcra >/dev/null
  cli CONFIG RESETSTAT >/dev/null
  run -0 rlctl scripts call gcra k --limit 5/60s
  assert_equal "$(calls evalsha)" 1
  cli SET text x >/dev/null
  run -5 rlctl scripts call gcra --limit 5/60s text
  assert_output --partial 'WRONGTYPE'
}

# prints_the_call KEY NAME OPTION…: the printed line, run by a shell, gives the reply that call gives.
prints_the_call() {
  local line by_line by_call shell by_shell=''
  rlctl scripts load >/dev/null
  line=$(rlctl scripts call "${@:2}" --print -- "$1")
  assert_equal "$(cli DBSIZE)" 0
  for shell in bash dash zsh sh; do
    command -v "$shell" >/dev/null || continue
    cli FLUSHALL >/dev/null
    by_line=$("$shell" -c "$line" | xargs)
    assert_regex "$by_line" '^1 [0-9]+ 0 [0-9]+ 0 0$'
    [[ -z $by_shell || $by_line == "$by_shell" ]] || fail "$shell: $by_line, not $by_shell"
    by_shell=$by_line
  done
  cli FLUSHALL >/dev/null
  by_call=$(rlctl scripts call "${@:2}" -- "$1")
  assert_equal "$by_line" "$(sed -E 's/[a-z_]+=//g' <<<"$by_call")"
  cli FLUSHALL >/dev/null
}

@test "--print gives the redis-cli line, which a shell can run" {
  local key
  for key in login:alice '-n' "it's" 'a b' '$(date) `x` "q" \ *' $'line\nfeed\ttab' $'\xff\xfe' 'ünï' '=ls' \
    $'\n\';touch pwned #' $'\e\\\';touch pwned;\''; do
    prints_the_call "$key" sliding-window-log --limit 5/60s --now 1800000000000000
    prints_the_call "$key" gcra --limit 5/60s --burst 7 --cost 3 --now 1800000000000000
    prints_the_call "$key" sliding-window-log --limit 5/60s --limit 9/1h --cost -1 --now 1800000000000000
  done
  [[ ! -e pwned ]]
}

@test "--print names the server and the user, and never the password" {
  local sha1
  sha1=$(sha1sum <"$project/lua/sliding-window-log.lua" | cut -d' ' -f1)
  run -0 --separate-stderr rlctl scripts call sliding-window-log --url redis://ann:secret@db:7000/3 --limit 5/60s --print k
  assert_output "redis-cli -h db -p 7000 -n 3 --user ann EVALSHA $sha1 1 k 5 60000000"
  assert_equal "$stderr" 'rlctl: scripts: note: give redis-cli the password in REDISCLI_AUTH'
  run -0 rlctl scripts call sliding-window-log --url rediss://db --cacert ca.pem --sni name --limit 5/60s --print k
  assert_output "redis-cli -h db -p 6379 --tls --cacert ca.pem --sni name EVALSHA $sha1 1 k 5 60000000"
  run -0 rlctl scripts call sliding-window-log --url redis+cluster://a:1,b:2 --limit 5/60s --limit 9/1h --print k
  assert_output "redis-cli -h a -p 1 -c EVALSHA $sha1 2 '{k}:60s' '{k}:3600s' 5 60000000 '' 9 3600000000"
  run -2 rlctl scripts call sliding-window-log --url redis+sentinel://a/m --limit 5/60s --print k
  run -2 rlctl scripts call sliding-window-log --url private: --limit 5/60s --print k
}

@test "a policy is called with its own limits" {
  printf '[policy.login]\nkey = "login:%%s"\nlimit = "5/60s"\nalgorithm = "gcra"\n' >c.toml
  run -0 rlctl --config c.toml scripts call gcra --policy login ann --print
  assert_output --regexp 'EVALSHA [0-9a-f]{40} 1 login:ann 5 60000000$'
  run -2 rlctl --config c.toml scripts call fixed-window --policy login ann
  assert_line --index 0 "rlctl: scripts: policy 'login' names gcra, not fixed-window"
}

@test "call says what was counted if its answer cannot be written" {
  start_server
  [[ -e /dev/full ]] || skip 'no /dev/full'
  run -2 bash -c 'rlctl scripts call gcra k --limit 5/60s >/dev/full'
  assert_output --partial '; the request was counted'
  run -2 bash -c 'rlctl scripts call gcra k --limit 5/60s --cost -1 >/dev/full'
  assert_output --partial '; the refund was counted'
  run -2 bash -c 'rlctl scripts call gcra k --limit 5/60s --cost 0 >/dev/full'
  refute_output --partial counted
}
