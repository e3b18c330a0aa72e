load ../../support/common

# words WORD…: the completions of the last WORD on one line, without descriptions; the kind comes first.
words() { rlctl completion words -- "$@" | cut -f1 | paste -sd' '; }

# finds EXPECTED WORD…: words, with keys from the server. On a busy machine half a second may be too short for them.
finds() { [[ $(RLCTL_COMPLETE_KEYS=1 words "${@:2}") == "$1" ]]; }

configure() {
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  printf '%s\n' '[policy.login]' 'key = "login:{}"' 'limit = ["5/60s", "20/h"]' '[policy.api]' 'key = "api:{}"' \
    'limit = "100/60s"' '[script.counter]' 'file = "counter.lua"' >"$RLCTL_CONFIG"
  echo 'return 1' >"$BATS_TEST_TMPDIR/counter.lua"
}

@test "commands are completed, before and after general options" {
  local names
  names=$(rlctl --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | paste -sd' ')
  assert_equal "$(words '')" "words $names"
  assert_equal "$(words --json '')" "words $names"
  assert_equal "$(words -p 7000 --tls '')" "words $names"
  assert_equal "$(words help '')" "words $names"
  assert_equal "$(words che)" 'words check'
  assert_equal "$(words -n 2 che)" 'words check'
  assert_equal "$(words help check '')" words
  assert_equal "$(words nothing '')" words
  assert_equal "$(words version '')" words
}

@test "every option that --help shows is completed, each at its command" {
  local command option expected
  while read -r command; do
    case $command in help | version) continue ;; esac
    expected=$({ rlctl "$command" --help && rlctl --help; } | sed -nE 's/^ +(-[A-Za-z], )?(--[a-z0-9-]+).*/\2/p')
    run -0 rlctl completion words -- "$command" --
    for option in $expected; do assert_line --regexp "^$option"$'\t'; done
  done < <(rlctl completion words -- '' | sed 1d | cut -f1)
}

@test "an option is not offered again, nor one that it excludes" {
  run -0 words check --algorithm gcra --a
  assert_output 'words --askpass'
  assert_equal "$(words check --policy login --li)" words
  assert_equal "$(words check --limit 5/60s --pol)" words
  # A list may go on.
  assert_equal "$(words check --limit 5/60s --li)" 'words --limit'
  assert_equal "$(words burst adversary --cl)" words
  assert_equal "$(words burst steady --cl)" 'words --clock --clients'
}

@test "values are completed, also after = and after a comma" {
  assert_equal "$(words check --algorithm g)" 'words gcra'
  assert_equal "$(words check --algorithm=g)" 'words --algorithm=gcra'
  assert_equal "$(words burst --algorithm gcra,le)" 'words gcra,leaky-bucket'
  assert_equal "$(words burst --algorithm=gcra,le)" 'words --algorithm=gcra,leaky-bucket'
  assert_equal "$(words burst --algorithm al)" 'words all'
  assert_equal "$(words burst --clock '')" 'words virtual real'
  assert_equal "$(words run --on-error '')" 'words fail allow deny'
  assert_equal "$(words list --sort '')" 'words used ratio ttl bytes key'
  assert_equal "$(words burst --replay x --format c)" 'words combined csv'
  assert_equal "$(words check --limit '')" words
  assert_equal "$(words check --cacert '')" files
  assert_equal "$(words -s '')" files
  assert_equal "$(words --config=x)" files
  run -0 rlctl completion words -- check --algorithm gc
  assert_line --regexp $'^gcra\t.+'
}

@test "operands are completed" {
  assert_equal "$(words burst b)" 'words boundary'
  assert_equal "$(words burst adv)" 'words adversary'
  assert_equal "$(words burst steady '')" words
  assert_equal "$(words burst --replay a.log '')" files
  assert_equal "$(words debug gc)" 'files gcra'
  assert_equal "$(words debug gcra '')" words
  assert_equal "$(words lint gc)" 'files gcra'
  assert_equal "$(words config '')" 'words check show path'
  assert_equal "$(words scripts '')" 'words list show load export call'
  assert_equal "$(words scripts show gc)" 'words gcra'
  assert_equal "$(words scripts export '')" files
  assert_equal "$(words completion f)" 'words fish'
  assert_equal "$(words check -- --)" words
}

@test "the command after rlctl run KEY -- is the shell's to complete" {
  assert_equal "$(words run k --limit 5/s -- '')" 'program 5'
  assert_equal "$(words --json run k --limit 5/s -- ls --al)" 'program 6'
  assert_equal "$(words run k --limit 5/s --co)" 'words --config --cost --concurrency'
}

@test "policies and scripts come from the configuration file, also the one that --config names" {
  configure
  assert_equal "$(words check --policy '')" 'words login api'
  run -0 rlctl completion words -- check --policy lo
  assert_line $'login\t5/60s,20/1h'
  assert_equal "$(words config show '')" 'words login api counter'
  assert_equal "$(words burst --script co)" 'files counter'
  assert_equal "$(words debug co)" 'files concurrency counter'
  mv "$RLCTL_CONFIG" "$BATS_TEST_TMPDIR/other.toml"
  unset RLCTL_CONFIG
  assert_equal "$(words check --policy '')" words
  assert_equal "$(words --config "$BATS_TEST_TMPDIR/other.toml" check --policy '')" 'words login api'
  assert_equal "$(words check --config="$BATS_TEST_TMPDIR/other.toml" --policy a)" 'words api'
}

@test "from a wrong configuration file nothing is completed, and what does not come from it is" {
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/wrong.toml
  echo '[policy' >"$RLCTL_CONFIG"
  run -0 --separate-stderr rlctl completion words -- check --policy ''
  assert_output words
  assert_equal "$stderr" ''
  assert_equal "$(words debug gc)" 'files gcra'
  assert_equal "$(words burst --script x)" files
}

@test "an algorithm that the command refuses is not offered, nor one that is given" {
  local command
  for command in check run inspect reset quota burst; do
    assert_equal "$(words "$command" --algorithm c)" words
  done
  assert_equal "$(words list --algorithm c)" 'words concurrency'
  assert_equal "$(words debug --algorithm c)" 'words concurrency'
  assert_equal "$(words burst --algorithm gcra,g)" words
}

@test "keys follow the script of debug" {
  start_server
  cli SET login:ann x >/dev/null
  wait_until finds 'words login:ann' debug gcra lo
  wait_until finds 'words login:ann' debug --algorithm gcra lo
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
