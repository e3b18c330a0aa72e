# needs: server
load ../../support/common

# How `rlctl lint` runs scripts and reports: names, output, and what goes wrong.

setup() {
  # Private to this test, so that its remaining contents are known, and short enough for a socket's path.
  export TMPDIR=$BATS_TEST_TMPDIR
  cd "$BATS_TEST_TMPDIR"
  cat >counter.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
return count
LUA
}

# is_unknown PATTERN SCRIPT [OPTION…]: the status is 3, and the first line of standard error matches.
is_unknown() {
  run -3 --separate-stderr rlctl lint "${@:2}"
  assert_regex "${stderr_lines[0]}" "$1"
}

@test "the text has a line to jump to, the severity, why and what to do, in 80 columns" {
  run -2 --separate-stderr rlctl lint counter.lua --allowed-when '<=limit'
  assert_equal "$(sed -E 's/[0-9]+ requests/N requests/' <<<"$output")" "counter.lua:1: critical: no-ttl: INCR ann
    'ann' has no TTL when the script returns. Its client is denied forever.
    Fix: set a TTL when the key is new: if the new count is 1, PEXPIRE it by the
    window.
1 critical finding in 1 script (N requests)
Search for requests that exceed the limit:
    rlctl adversary counter.lua --limit 5/60s --allowed-when '<=limit'"
  assert_equal "$stderr" ''
}

@test "--json is one object a line, with a command that contains any byte" {
  printf '%s\n' "redis.call('SET', KEYS[1] .. '\\n\\255', 'a\"b', 'PX', 60000)" 'return 1' >bytes.lua
  run -1 --separate-stderr rlctl lint bytes.lua --json --allowed-when always
  run -0 gojq -c 'select(.finding) | [.finding, .severity, .script, .line, .call, (.detail | length > 0), (.fix | length > 0)]' <<<"$output"
  assert_output '["undeclared-key","warning","bytes.lua",1,"SET ann\\n\\xff a\"b PX 60000",true,true]'
}

@test "several scripts, by file, by name and from the configuration, in one run" {
  printf '%s\n' '[script.mine]' 'file = "counter.lua"' 'keys = ["count:{key}"]' 'allowed = "<=limit"' >my.toml
  run -2 --separate-stderr rlctl lint --config my.toml mine gcra --limit 2/10s
  assert_line --regexp '^[^ ]*counter\.lua:1: critical: no-ttl: INCR count:ann$'
  assert_line --regexp '^1 critical finding in 2 scripts \([0-9]+ requests\)$'
  assert_line '    rlctl adversary mine --config my.toml --limit 2/10s'
  assert_line '    rlctl adversary gcra --config my.toml --limit 2/10s'
}

@test "the script comes from standard input, too" {
  run -2 --separate-stderr rlctl lint - --allowed-when '<=limit' <counter.lua
  assert_line --index 0 'stdin:1: critical: no-ttl: INCR ann'
}

@test "no server in use is touched" {
  start_server
  run -2 --separate-stderr rlctl lint counter.lua --allowed-when '<=limit'
  assert_equal "$(cli DBSIZE)" 0
}

@test "a script that is called otherwise than it expects is an error with a hint" {
  echo 'return redis.call("INCR", KEYS[2]) <= tonumber(ARGV[1])' >two.lua
  is_unknown "^rlctl: lint: two\.lua:1: .*; request 1 had KEYS 'ann' and ARGV none$" two.lua
  assert_equal "${stderr_lines[1]}" '  hint: the script uses KEYS[2], but #KEYS is 1; give --keys once for each key'
}

@test "a script that does not compile, raises an error or replies one is named with its line" {
  printf '%s\n' 'local x = 1' 'return return' >compile.lua
  is_unknown "^rlctl: lint: compile\.lua:2: " compile.lua
  # The server sees this mistake behind the last line.
  printf 'return 1 +\n' >ends.lua
  is_unknown "^rlctl: lint: ends\.lua:1: .*near '(<eof>|end)'" ends.lua
  printf '%s\n' 'redis.call("SET", KEYS[1], 1)' 'return redis.call("LPUSH", KEYS[1], 1)' >raises.lua
  is_unknown "^rlctl: lint: raises\.lua:2: .*WRONGTYPE Operation .*; request 1 had KEYS 'ann'" raises.lua
  echo 'return redis.error_reply("MY mistake")' >replies.lua
  is_unknown "^rlctl: lint: replies\.lua: .*mistake; request 1 had KEYS 'ann'" replies.lua
  assert_equal "${stderr_lines[1]}" '  hint: an error is not taken for a denial: let the script return a value for it, and say which with --allowed-when'
}

@test "a script that does not end is cut off, and Ctrl-C ends it by the signal" {
  echo 'while true do end' >loop.lua
  is_unknown "^rlctl: lint: loop\.lua did not end: it ran for .* instructions; request 1 had KEYS 'ann'" loop.lua
  assert_regex "${stderr_lines[1]}" 'step through it with rlctl debug'
  run -0 ends_by INT 'sleep 0.2' rlctl lint loop.lua
  assert_output 'signal 2'
}

@test "what the engine does not have is named, and so is a server that lint would not ask" {
  echo 'return redis.call("GEOADD", KEYS[1], 1, 2, "x")' >geo.lua
  is_unknown '^rlctl: lint: geo\.lua:1: GEOADD is not implemented here; request 1 had KEYS' geo.lua
  assert_regex "${stderr_lines[1]}" 'burst and adversary run scripts there with -u private:, debug with --ldb$'
  is_unknown '^rlctl: lint: lint runs scripts in this process, never on a server$' geo.lua -u private:
}

@test "--json has what was not tested, and why" {
  run -3 --separate-stderr rlctl lint "$project/tests/limiters/own-window.lua" --args '{now_ms} {id}' --json
  assert_equal "$(gojq -r '.not_tested[]? | select(.why | length > 0) | .what' <<<"$output")" windows
}

@test "the bundled scripts have no flaws, also when they are named as files" {
  local names
  names=$(find "$project/lua" -name '*.lua' ! -name concurrency.lua)
  # shellcheck disable=SC2086 # split into words
  run -0 --separate-stderr rlctl lint $names --limit 3/20s
  assert_line --index 0 --regexp '^no findings in 8 scripts \([0-9]+ requests\)$'
  assert_equal "$stderr" ''
}

@test "the schema of --json and the manual have the findings that --help names" {
  local name names
  names=$(rlctl lint --help | sed -n '/^Findings:/,/^$/ s/^  \([a-z-]*\) .*/\1/p')
  [ "$(wc -l <<<"$names")" -gt 30 ]
  assert_equal "$(gojq -r '."$defs".finding.properties.finding.enum[]' "$project/schema/lint.schema.json" | sort)" \
    "$(sort <<<"$names")"
  for name in $names; do
    grep -qx "\*$name\*" "$project/man/rlctl-lint.1.scd" || fail "the manual lacks $name"
  done
}

@test "a script that never ends is refused, with as little memory as ever" {
  local limit=(bash -c 'ulimit -v 1048576; exec rlctl "$@"' -) words
  # A sanitizer needs more address space.
  if [[ $RLCTL_BUILD == *sanitize* ]]; then limit=(rlctl); fi
  ln -s /dev/zero z.lua
  for words in '3 lint z.lua' '2 burst steady z.lua --limit 5/60s' '2 debug z.lua k --trace'; do
    # shellcheck disable=SC2086 # split into words
    run_with_timeout "-${words%% *}" "${limit[@]}" ${words#* }
    assert_output --partial "'z.lua' is larger than 16 MiB, the most that a script may have"
  done
  run_with_timeout -2 "${limit[@]}" burst steady - --limit 5/60s </dev/zero
  assert_output --partial 'standard input is larger than 16 MiB'
}

@test "a program of the configuration is examined beside a script, and a finding of it has no line" {
  sed '/shift @/d' "$project/tests/limiters/log.pl" >endless.pl
  printf '%s\n' '[script.mine]' 'exec = "perl endless.pl"' >my.toml
  run -2 --separate-stderr rlctl lint --config my.toml mine gcra
  assert_line --index 0 --partial 'mine: critical: locked-out: '
  assert_line --regexp '^1 critical finding in 2 limiters \([0-9]+ requests\)$'
  assert_line '    rlctl adversary mine --config my.toml --limit 5/60s --cost 1,5'
  run -2 --separate-stderr rlctl lint --json --config my.toml mine
  assert_equal "$(gojq -rc 'select(.finding) | [.finding, .script, .line, .call, (.schedule | length > 0)]' <<<"$output")" \
    '["locked-out","mine",null,null,true]'
  is_unknown "^rlctl: lint: --args is for a script in Lua, but 'mine' is a program$" mine --config my.toml --args '{now}'
}

@test "a program that fails is UNKNOWN, and named; --timeout and Ctrl-C end it" {
  is_unknown '^rlctl: lint: perl.*out of tokens' --exec 'perl -e "<STDIN>; die q(out of tokens)"'
  local sleeps='perl -e "open my \$f, q(>), q(asked); sleep 1000"'
  is_unknown '^rlctl: lint: perl' --timeout 100ms --exec "$sleeps"
  rm -f asked
  run -0 ends_by INT 'test -e asked' rlctl lint --timeout 100s --exec "$sleeps"
  assert_output 'signal 2'
}

@test "a program that answers the same requests differently is UNKNOWN" {
  cat >chance.pl <<'PERL'
$| = 1;
while (<STDIN>) {
  if (/"reset":true/) { $count = 0; ++$runs; next }
  print ++$count > 4 + $runs % 2 ? qq({"allowed":false}\n) : qq({"allowed":true}\n);
}
PERL
  is_unknown 'the same requests got different answers when they were sent again$' --exec 'perl chance.pl'
}

@test "a limit that the traffic does not exceed is not tested, and a search is named only if it takes the limit" {
  run -3 rlctl lint gcra --limit 1000/60s
  assert_line --partial 'the limit 1000/60s: it is scaled down to 20/60s'
  assert_line --partial 'rlctl adversary'
  run -3 rlctl lint gcra --limit 2000/60s
  refute_output --partial 'rlctl adversary'
}

@test "GitHub's problem matchers match the first line of each finding, and nothing else" {
  # A first line is one that an indented line follows, with the call or the sentence, unless it begins a list.
  run -0 python3 - "$project" <<'END'
import json, re, sys
matchers = json.load(open(sys.argv[1] + "/.github/rlctl-lint.json"))["problemMatcher"]
lines = [line for line in open(sys.argv[1] + "/tests/cli/lint/reports.t").read().split("\n") if line[:2] not in ("$ ", "< ")]
lines += ["rlctl: lint: warning: mine: not tested", "rlctl: lint: my.lua:1: warning: no-ttl: INCR", "a.lua: not tested:"]
first = [line for line, after in zip(lines, lines[1:])
         if after.startswith("    ") and line[:1].strip() and ": excused: " not in line and not line.endswith(":")]
matched = {}
for matcher in matchers:
    pattern, = matcher["pattern"]
    for line in lines:
        match = re.search(pattern["regexp"], line)
        if not match: continue
        said = {name: match[pattern[name]] for name in ("file", "line", "code", "message")}
        assert line not in matched or matched[line][0] == matcher["severity"], line
        matched[line] = (matcher["severity"], said)
        place = said["file"] + (":" + said["line"] if said["line"] else "")
        severity = {"error": "critical", "warning": "warning", "notice": "note"}[matcher["severity"]]
        assert line == f"{place}: {severity}: {said['code']}: {said['message']}", line
assert set(matched) == set(first), set(matched) ^ set(first)
assert {severity for severity, _ in matched.values()} == {"error", "warning", "notice"}
assert {bool(said["line"]) for _, said in matched.values()} == {True, False}
assert len({matcher["owner"] for matcher in matchers}) == 3
END
}
