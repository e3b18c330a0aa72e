# needs: server
load ../support/common
load ../support/readme

# examples/prove-your-limiter, copied to a folder that is laid out like a checkout: the example in the folder
# limiter, the adapters of limiters that are programs in any-limiter, rlctl's sources in rlctl.

setup_file() {
  # A small search finds the same.
  export RLCTL_PROVE_TRIES
  RLCTL_PROVE_TRIES=$(scaled 2000 50000)
  unset RLCTL_CONFIG
  workspace=$BATS_FILE_TMPDIR
  export workspace
  cp -r "$project/examples/prove-your-limiter" "$workspace/limiter"
  cp -r "$project/examples/any-limiter" "$workspace/any-limiter"
  ln -s "$project" "$workspace/rlctl"
}

setup() {
  unset RLCTL_CONFIG
  cd "$workspace/limiter" || return
}

@test "prove: the broken limiter fails every test, each command printed shows why, and the mended one fails none" {
  run -1 --separate-stderr ./prove broken
  refute_line --regexp '^ok'
  assert_equal "$(grep -c '^not ok' <<<"$output")" "$(grep -c '^assert ' prove)"
  [[ $stderr == *"'worst<=1' does not hold: broken has 2"* ]] || fail "$stderr"
  grep '^rlctl debug ' <<<"$output" >commands
  assert_equal "$(wc -l <commands)" "$(grep -c '^assert ' prove)"
  assert_equal "$(find failed -type f | wc -l)" "$(wc -l <commands)"
  local command
  while IFS= read -r command; do
    run -0 bash -euo pipefail -c "$command" </dev/null 3>&- 4>&-
    # The one that is too many, or the first that is denied.
    case $command in
      *search.log*) assert_line 'reads as allowed, remaining 0' ;;
      *random.jsonl*) assert_line --regexp '^reads as denied, remaining 0, retry_after ' ;;
      *) assert_line --regexp '^reads as (allowed|denied, .*retry_after)' ;;
    esac
  done <commands
  # The limiter keeps every promise. The requests of a failure that is mended are not kept.
  run -0 --separate-stderr ./prove
  refute_line --regexp '^not ok'
  assert_equal "$(grep -c '^ok ' <<<"$output")" "$(grep -c '^assert ' prove)"
  assert_equal "$stderr" ''
  assert [ ! -e failed ]
}

# bats test_tags=night
@test "prove: an unknown script and a script with an error are no failures of the limiter" {
  run -2 ./prove mein
  assert_output --partial "no script of that name in ./rlctl.toml"
  assert [ ! -e failed ]
  cp -r . "$BATS_TEST_TMPDIR/limiter"
  cd "$BATS_TEST_TMPDIR/limiter"
  echo "return redis.call('NOSUCH')" >limiter.lua
  run -5 ./prove
  refute_output --partial 'not ok'
  assert [ ! -e failed ]
}

# bats test_tags=night
@test "prove-semaphore: the semaphore keeps its limit, and the broken one does not" {
  run -0 --separate-stderr ./prove-semaphore
  assert_output "$(printf 'ok      %s\n' search traffic)"
  run -1 --separate-stderr ./prove-semaphore broken-semaphore
  assert_line 'not ok  search'
  assert_line 'not ok  traffic'
  assert_equal "$(diff <(grep -v '^--' semaphore.lua) <(grep -v '^--' broken-semaphore.lua) | grep -c '^[<>]')" 2
}

@test "broken.lua differs from limiter.lua in its comment and in one line of code" {
  assert_equal "$(diff <(grep -v '^--' limiter.lua) <(grep -v '^--' broken.lua) | grep -c '^[<>]')" 2
}

# With fewer requests, the search finds another schedule.
# bats test_tags=night
@test "the output in the README of examples/prove-your-limiter is correct" {
  readme_is_true README.md
}

# programs: the limiters that are programs in the workflow's matrix.
programs() { sed -nE 's/^ *limiter: \[mine, (.*)\].*/\1/p' prove.yml | tr -d ,; }

# bats test_tags=night
@test "prove: a limiter that is a program keeps every promise, and one that does not is found" {
  local program
  needs openjdk-17-jdk-headless javac
  needs openjdk-17-jdk-headless java
  assert_equal "$(programs)" 'python java'
  for program in $(programs); do
    run -0 --separate-stderr ./prove "$program"
    assert_equal "$(grep -c '^ok ' <<<"$output")" "$(grep -c '^assert ' prove)"
    assert [ ! -e failed ]
  done
  cp -r . "$BATS_TEST_TMPDIR/limiter"
  cp -r ../any-limiter "$BATS_TEST_TMPDIR"
  cd "$BATS_TEST_TMPDIR/limiter"
  sed -i 's/ times\[0\] <= now - self.window/ times[0] <= now - 0.9 * self.window/' ../any-limiter/limiter.py
  run -1 ./prove python
  assert_line --regexp "'worst<=1' does not hold: python has "
  # The command that is printed shows the decisions.
  run -0 bash -euo pipefail -c "$(grep -m 1 '^rlctl burst .*search.log' <<<"$output")"
  grep -q '"allowed":true' decisions.jsonl
}

# workflow: the commands of the workflow, as GitHub would run them for the limiter "mine".
workflow() {
  awk '
    on && /^          / { print substr($0, 11); next }
    { on = 0 }
    /^        run: \|$/ { on = 1; next }
    /^ +(- )?run: / { sub(/^ +(- )?run: /, ""); print }' limiter/prove.yml | sed 's/[$]{{ matrix.limiter }}/mine/'
}

@test "prove.yml: its commands build, install and run, and the paths that it keeps are those of prove" {
  cd "$workspace"
  workflow >steps
  assert_equal "$(tail -n 1 steps)" 'limiter/prove mine'
  HOME=$workspace/home GITHUB_PATH=$workspace/path run -0 bash -e steps </dev/null
  assert_line 'ok      search, 5/60s'
  assert [ -x "$(<path)/rlctl" ]
  run -1 limiter/prove broken
  assert [ -s "$(sed -n 's/^ *path: \(.*failed\)$/\1/p' limiter/prove.yml)/search.log" ]
  # The printed commands work in the folder in which prove was called.
  run -0 bash -c "$(grep -m 1 '^rlctl debug ' <<<"$output")"
  assert_line 'reads as allowed, remaining 0'
}

@test "prove.yml is YAML with a step for each command" {
  run -0 python3 -c 'import yaml
for step in yaml.safe_load(open("prove.yml"))["jobs"]["prove"]["steps"]: print(step.get("uses") or step["run"])'
  assert_line 'limiter/prove ${{ matrix.limiter }}'
  assert_line 'actions/upload-artifact@v4'
}
