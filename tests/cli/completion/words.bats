# needs: server
load ../../support/common

# Keys, which come from the server. words_test.cc tests the other words.

# completes_to EXPECTED WORD…: whether these are the completions of the last WORD, without descriptions; the kind comes first.
# On a busy machine half a second may be too short for keys from the server.
completes_to() {
  [[ $(RLCTL_COMPLETE_KEYS=${complete-1} rlctl completion words -- "${@:2}" | cut -f1 | paste -sd' ') == "$1" ]]
}

@test "keys are completed only if RLCTL_COMPLETE_KEYS is 1, and at most a hundred; otherwise no server is asked" {
  start_server
  cli EVAL "for i = 1, 20000 do redis.call('SET', 'other:' .. i, '') end
    for i = 1, 3 do redis.call('SET', 'login:' .. i, '') end" 0 >/dev/null
  cli SET $'login:\n' x >/dev/null
  cli SET one x >/dev/null
  connections() { cli INFO stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p'; }
  local before
  before=$(connections)
  complete='' completes_to words check lo
  complete='' completes_to words inspect ''
  assert_equal "$(connections)" $((before + 1))
  wait_until completes_to 'words login:1 login:2 login:3' check login:
  wait_until completes_to 'words login:1 login:2 login:3' debug gcra lo
  completes_to files debug lo
  completes_to words check --policy x lo
  RLCTL_URL=private: completes_to words check lo
  offers_a_hundred() { (($(RLCTL_COMPLETE_KEYS=1 rlctl completion words -- check other: | wc -l) == 101)); }
  wait_until offers_a_hundred
}

@test "a server that is silent or gone offers nothing, and keeps nobody waiting" {
  for _ in 1 2; do
    RLCTL_COMPLETE_KEYS=1 run -1 rlctl completion words -- check lo
    assert_output ''
    start_fake_server ''
  done
}

@test "a key that begins with - is offered only after --, where it is no option" {
  start_server
  cli MSET '--url=redis://u:p@evil.example' x '-q' x ann x >/dev/null
  local command
  for command in check inspect reset quota run settle 'debug gcra'; do
    # shellcheck disable=SC2086 # two words
    wait_until completes_to 'words ann' $command ''
  done
  for command in check inspect reset quota; do
    wait_until completes_to 'words --url=redis://u:p@evil.example -q ann' "$command" -- ''
    wait_until completes_to 'words -q' "$command" -- -q
  done
  completes_to 'words --url' inspect --url
}
