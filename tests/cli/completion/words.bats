# needs: server
load ../../support/common

# Keys, which come from the server. words_test.cc tests the other words.

# words WORD…: the completions of the last WORD on one line, without descriptions; the kind comes first.
words() { rlctl completion words -- "$@" | cut -f1 | paste -sd' '; }

# finds EXPECTED WORD…: words, with keys from the server. On a busy machine half a second may be too short for them.
finds() { [[ $(RLCTL_COMPLETE_KEYS=1 words "${@:2}") == "$1" ]]; }

@test "keys follow the script of debug" {
  start_server
  cli SET login:ann x >/dev/null
  wait_until finds 'words login:ann' debug gcra lo
  finds files debug lo
}

@test "keys are looked for as long as half a second allows, and a server that is silent keeps nobody waiting" {
  start_server
  cli EVAL "for i = 1, 20000 do redis.call('SET', 'other:' .. i, '') end" 0 >/dev/null
  cli SET login:ann x >/dev/null
  wait_until finds 'words login:ann' inspect lo
  start_fake_server ''
  RLCTL_COMPLETE_KEYS=1 run -1 --separate-stderr rlctl completion words -- inspect lo
  assert_output ''
  assert_equal "$stderr" ''
}

@test "a key that begins with - is offered only after --, where it is no option" {
  start_server
  cli SET '--url=redis://u:p@evil.example' x >/dev/null
  cli SET '-q' x >/dev/null
  cli SET 'ann' x >/dev/null
  local command
  for command in check inspect reset quota run settle 'debug gcra' 'scripts call gcra'; do
    # shellcheck disable=SC2086 # two words
    wait_until finds 'words ann' $command ''
  done
  for command in check inspect reset quota; do
    wait_until finds 'words --url=redis://u:p@evil.example -q ann' "$command" -- ''
    wait_until finds 'words -q' "$command" -- -q
  done
  RLCTL_COMPLETE_KEYS=1 run -0 words inspect --url
  assert_output 'words --url'
}

@test "keys are completed only if RLCTL_COMPLETE_KEYS is 1; otherwise no server is asked" {
  start_server
  local i
  for i in 1 2 3; do cli SET "login:$i" x >/dev/null; done
  cli SET 'other' x >/dev/null
  cli SET $'login:\n' x >/dev/null
  local before
  before=$(cli INFO stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')
  assert_equal "$(words check lo)" words
  assert_equal "$(words inspect '')" words
  assert_equal "$(cli INFO stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')" $((before + 1))
  wait_until finds 'words login:1 login:2 login:3' check login:
  wait_until finds 'words other' scripts call gcra o
  finds words check --policy x lo
  RLCTL_URL=private: finds words check lo
  RLCTL_COMPLETE_KEYS=1 RLCTL_URL=unix://$BATS_TEST_TMPDIR/none run -1 --separate-stderr rlctl completion words -- check lo
  assert_output ''
  assert_equal "$stderr" ''
  for i in $(seq 200); do echo "SET many:$i x"; done | cli >/dev/null
  offers_a_hundred() { (($(RLCTL_COMPLETE_KEYS=1 rlctl completion words -- check many: | wc -l) == 101)); }
  wait_until offers_a_hundred
}
