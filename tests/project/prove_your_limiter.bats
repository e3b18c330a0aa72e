load ../support/common

# examples/prove-your-limiter, copied to this test's folder, which is laid out like a checkout: the example in
# the folder limiter, rlctl's sources in rlctl.

setup() {
  unset RLCTL_CONFIG
  cp -r "$project/examples/prove-your-limiter" "$BATS_TEST_TMPDIR/limiter"
  cd "$BATS_TEST_TMPDIR/limiter" || return
}

# The commands that ./prove printed, one a line.
printed_commands() { grep '^rlctl debug ' <<<"$output"; }

@test "prove: the limiter keeps every promise, and nothing is left" {
  run -0 --separate-stderr ./prove
  refute_line --regexp '^not ok'
  assert_equal "$(grep -c '^ok ' <<<"$output")" "$(grep -c '^assert ' prove)"
  assert_equal "$stderr" ''
  assert [ ! -e failed ]
}

@test "prove: the broken limiter fails every test, and each command printed shows how" {
  run -1 --separate-stderr ./prove broken
  refute_line --regexp '^ok'
  assert_equal "$(grep -c '^not ok' <<<"$output")" "$(grep -c '^assert ' prove)"
  [[ $stderr == *"'worst<=1' does not hold: broken has 2"* ]] || fail "$stderr"
  printed_commands >commands
  assert_equal "$(wc -l <commands)" "$(grep -c '^assert ' prove)"
  assert_equal "$(find failed -type f | wc -l)" "$(wc -l <commands)"
  local command
  while IFS= read -r command; do
    run -0 bash -euo pipefail -c "$command" </dev/null 3>&- 4>&-
    assert_line --regexp '^reads as (allowed|denied, .*retry_after)'
  done <commands
  # The requests of a failure that is mended are not kept.
  run -0 ./prove
  assert [ ! -e failed ]
}

@test "prove: the request shown is the one that is too many, or the first that is denied" {
  run -1 ./prove broken
  printed_commands >commands
  run -0 bash -c "$(grep search.log commands) -q"
  assert_line 'reads as allowed, remaining 0'
  run -0 bash -c "$(grep random.jsonl commands) -q"
  assert_line --regexp '^reads as denied, remaining 0, retry_after '
}

@test "prove: from another folder, the printed commands work there" {
  cd ..
  run -1 limiter/prove broken
  run -0 bash -c "$(printed_commands | head -n 1)"
  assert_line 'reads as allowed, remaining 0'
}

@test "prove: an unknown script and a script with an error are no failures of the limiter" {
  run -2 ./prove mein
  assert_output --partial "no script of that name in ./rlctl.toml"
  assert [ ! -e failed ]
  echo "return redis.call('NOSUCH')" >limiter.lua
  run -5 ./prove
  refute_output --partial 'not ok'
  assert [ ! -e failed ]
}

@test "broken.lua differs from limiter.lua in its comment and in one line of code" {
  assert_equal "$(diff <(grep -v '^--' limiter.lua) <(grep -v '^--' broken.lua) | grep -c '^[<>]')" 2
}

# The commands of the README, one a line; a command ends with its line.
shown() { awk '/^ *```$/ { on = 0 } on; /^ *```console$/ { on = 1 }' README.md; }

@test "the output in the README of examples/prove-your-limiter is correct" {
  shown | sed -n 's/^\$ //p' >commands
  assert [ -s commands ]
  local command
  while IFS= read -r command; do printf 'echo %q\n%s\n' "$ $command" "$command"; done <commands >session
  bash session >came 2>&1 </dev/null
  diff <(shown) came
}

@test "the links in the README of examples/prove-your-limiter lead somewhere" {
  cd "$project/examples/prove-your-limiter"
  local link
  for link in $(grep -oE '\]\([^)#]+\)' README.md | tr -d '])('); do assert [ -e "$link" ]; done
}

# steps: the commands of the workflow, as GitHub would run them.
steps() {
  awk '
    on && /^          / { print substr($0, 11); next }
    { on = 0 }
    /^        run: \|$/ { on = 1; next }
    /^ +(- )?run: / { sub(/^ +(- )?run: /, ""); print }' prove.yml
}

@test "prove.yml: its commands build, install and run, and the paths that it keeps are those of prove" {
  local workspace=$BATS_TEST_TMPDIR
  ln -s "$project" "$workspace/rlctl"
  steps >"$workspace/steps"
  assert_equal "$(tail -n 1 "$workspace/steps")" limiter/prove
  cd "$workspace"
  HOME=$workspace/home GITHUB_PATH=$workspace/path run -0 bash -e "$workspace/steps" </dev/null
  assert_line 'ok      search, 5/60s'
  assert [ -x "$(<path)/rlctl" ]
  sed -i 's|limiter/prove|& broken|' steps
  HOME=$workspace/home GITHUB_PATH=$workspace/path run -1 bash -e "$workspace/steps" </dev/null
  assert [ -s "$(sed -n 's/^ *path: \(.*failed\)$/\1/p' limiter/prove.yml)/search.log" ]
}

@test "prove.yml is YAML with a step for each command" {
  python3 -c 'import yaml' 2>/dev/null || skip 'python3-yaml is not installed'
  run -0 python3 -c 'import yaml
for step in yaml.safe_load(open("prove.yml"))["jobs"]["prove"]["steps"]: print(step.get("uses") or step["run"])'
  assert_line 'limiter/prove'
  assert_line 'actions/upload-artifact@v4'
}
