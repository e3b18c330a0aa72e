# needs: server
load ../../support/common

# How `rlctl lint` ends, what it reads, and who knows the names of its findings. Its reports are in reports.t.

setup() { cd "$BATS_TEST_TMPDIR"; }

# is_unknown PATTERN OPTION…: the status is 3, and the first line of standard error matches.
is_unknown() {
  run -3 --separate-stderr rlctl lint "${@:2}"
  assert_regex "${stderr_lines[0]}" "$1"
}

@test "a script that does not end is cut off, and Ctrl-C ends it by the signal" {
  echo 'while true do end' >loop.lua
  is_unknown "^rlctl: lint: loop\.lua did not end: it ran for .* instructions; request 1 had KEYS 'ann'" loop.lua
  assert_regex "${stderr_lines[1]}" 'step through it with rlctl debug'
  run -0 ends_by INT 'sleep 0.1' rlctl lint loop.lua
  assert_output 'signal 2'
}

@test "a program that does not answer is ended by --timeout and Ctrl-C" {
  local sleeps='perl -e "open my \$f, q(>), q(asked); sleep 1000"'
  is_unknown '^rlctl: lint: perl' --timeout 100ms --exec "$sleeps"
  rm -f asked
  run -0 ends_by INT 'test -e asked' rlctl lint --timeout 100s --exec "$sleeps"
  assert_output 'signal 2'
}

@test "the schema of --json and the manual have the findings that --help names" {
  local names
  names=$(rlctl lint --help | sed -n '/^Findings:/,/^$/ s/^  \([a-z-]*\) .*/\1/p' | sort)
  [ "$(wc -l <<<"$names")" -gt 30 ]
  assert_equal "$(gojq -r '."$defs".finding.properties.finding.enum[]' "$project/schema/lint.schema.json" | sort)" "$names"
  assert_equal "$(comm -23 <(cat <<<"$names") <(sed -n 's/^\*\([a-z-]*\)\*$/\1/p' "$project/man/rlctl-lint.1.scd" | sort))" ''
}

@test "a script that never ends is refused, with as little memory as ever" {
  local limit=(bash -c 'ulimit -v 1048576; exec rlctl "$@"' -) words
  # A sanitizer needs more address space.
  if [[ $RLCTL_BUILD == *sanitize* ]]; then limit=(rlctl); fi
  ln -s /dev/zero z.lua
  for words in '3 lint z.lua' '2 debug z.lua k --trace'; do
    # shellcheck disable=SC2086 # split into words
    run_with_timeout "-${words%% *}" "${limit[@]}" ${words#* }
    assert_output --partial "'z.lua' is larger than 16 MiB, the most that a script may have"
  done
  run_with_timeout -2 "${limit[@]}" burst steady - --limit 5/60s </dev/zero
  assert_output --partial 'standard input is larger than 16 MiB'
}

@test "the head of a script prepares nothing by a file to which a link beside it leads" {
  mkdir scripts
  echo 'SET {key} 1' >elsewhere.txt
  ln -s ../elsewhere.txt scripts/setup.txt
  printf '%s\n' '-- rlctl: setup ./setup.txt' 'return 1' >scripts/a.lua
  is_unknown "^rlctl: lint: scripts/a.lua:1: setup: './setup.txt' is not beside the script$" scripts/a.lua
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
