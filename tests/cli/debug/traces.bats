load ../../support/common

# Traces of all bundled scripts, allowed and denied, as files in golden/traces. After an intended change,
# RLCTL_TEST_WRITE=1 writes them again for review.

golden=$project/tests/cli/golden/traces
t=1795155075000000

# trace NAME ARG…: traces the script from its file, so that all eight are called in the same way.
trace() {
  local name=$1 words
  shift
  words=$(printf '%q ' "$@")
  rlctl debug "$project/lua/$name.lua" k --args "$words" --trace -q
}

# The time left of a key is known to the millisecond only when it is read.
without_ttls() {
  sed -E 's/(PTTL k +)[0-9]+/\1TTL/; s/^(\|   (ttl|left): )[0-9.]+$/\1TTL/; /^  /s/ttl .*/ttl TTL/'
}

# shows NAME ARG…: for each case that follows, the script is traced and then executed; the traces must equal
# the golden ones, and their replies those of EVALSHA.
shows() {
  local name=$1 sha1 came='' i
  shift
  start_server
  sha1=$(cli SCRIPT LOAD "$(<"$project/lua/$name.lua")")
  for i in 0 1 2; do
    local words=("$@" $((t + i)))
    run -0 trace "$name" "${words[@]}"
    came+="\$ ${words[*]}"$'\n'"$output"$'\n'
    local told
    told=$(grep -oE '^= \{[^}]*\}' <<<"$output" | tail -n 1)
    local got
    got=$(cli EVALSHA "$sha1" 1 k "${words[@]}" | paste -sd, | sed 's/,/, /g')
    assert_equal "$told" "= {$got}"
  done
  came=$(without_ttls <<<"$came")
  if [[ -n ${RLCTL_TEST_WRITE-} ]]; then echo "$came" >"$golden/$name.txt"; fi
  diff -u "$golden/$name.txt" <(echo "$came") || fail "$name is traced differently"
}

@test "fixed-window, allowed twice and denied" { shows fixed-window 2 60000000 '' 1; }
@test "sliding-window-log, allowed twice and denied" { shows sliding-window-log 2 60000000 '' 1; }
@test "sliding-window-zset, allowed twice and denied" { shows sliding-window-zset 2 60000000 '' 1; }
@test "sliding-window-counter, allowed twice and denied" { shows sliding-window-counter 2 60000000 '' 1; }
@test "token-bucket, allowed twice and denied" { shows token-bucket 2 60000000 '' 1; }
@test "gcra, allowed twice and denied" { shows gcra 2 60000000 '' 1; }
@test "leaky-bucket, allowed twice and denied" { shows leaky-bucket 2 60000000 1 1; }
@test "concurrency: a lease is acquired and renewed twice" { shows concurrency 1 60000000 acquire a; }
