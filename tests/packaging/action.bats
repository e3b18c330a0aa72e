load ../support/common

# packaging/setup-rlctl, the action for GitHub, and the workflows.

setup() { cd "$BATS_TEST_TMPDIR"; }

# as_json FILE: a file of YAML.
as_json() { python3 -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)' <"$1"; }

# run_step NUMBER: what a step of the action runs, with its environment, where an expression is what $context, an object
# of JSON, has for it.
run_step() {
  local name value step
  step=$(as_json "$project/packaging/setup-rlctl/action.yml" | gojq -c --argjson of "$context" --argjson at "$1" '
    def filled: gsub("\\$\\{\\{ (?<name>[^ ]+) \\}\\}"; $of[.name] // error("unknown: " + .name));
    .runs.steps[$at] | {run, env: (.env | map_values(filled))}')
  (
    while IFS=$'\t' read -r name value; do export "$name=$value"; done \
      < <(gojq -r '.env | to_entries[] | [.key, .value] | @tsv' <<<"$step")
    sh -e -c "$(gojq -r .run <<<"$step")"
  )
}

@test "the action installs the release, puts it into PATH, and adds the matcher of lint's lines" {
  local name
  name=rlctl-9.9.9-linux-$(uname -m)
  mkdir -p "$name/bin" releases
  # In place of the binary, which is large.
  printf '#!/bin/sh\necho rlctl 9.9.9\n' >"$name/bin/rlctl"
  chmod +x "$name/bin/rlctl"
  tar -czf "releases/$name.tar.gz" "$name"
  (cd releases && sha256sum -- *.tar.gz >SHA256SUMS)
  export GITHUB_PATH=$PWD/path
  context=$(gojq -n --arg here "$PWD" --arg action "$project/packaging/setup-rlctl" '{"inputs.version": "9.9.9",
    "inputs.from": "file://\($here)/releases", "runner.tool_cache": "\($here)/tools", "github.action_path": $action}')
  run -0 run_step 1
  assert_line --partial "as $PWD/tools/rlctl/9.9.9/rlctl"
  run -0 run_step 2
  assert_output "::add-matcher::$project/packaging/setup-rlctl/lint.json"
  run -0 env PATH="$(<path):$PATH" sh -c 'command -v rlctl'
  assert_output "$PWD/tools/rlctl/9.9.9/rlctl"
  # Only what has a run is a program here; the first step is the cache, which is skipped if it has the version.
  run -0 gojq -r '.runs.steps | map(.uses // "runs") | join(" ")' <(as_json "$project/packaging/setup-rlctl/action.yml")
  assert_output 'actions/cache@v4 runs runs'
}

# marks FILE…: what GitHub makes of the output of lint: severity, file, line and message.
marks() {
  python3 - "$project/packaging/setup-rlctl/lint.json" "$@" <<'END'
import json, re, subprocess, sys
matchers = json.load(open(sys.argv[1]))["problemMatcher"]
output = subprocess.run(["rlctl", "lint", *sys.argv[2:]], capture_output=True, text=True).stdout
for line in output.splitlines():
    for matcher in matchers:
        pattern = matcher["pattern"][0]
        if found := re.match(pattern["regexp"], line):
            print(matcher["severity"], *(found[pattern[part]] for part in ("file", "line", "message")), sep="|")
END
}

@test "the matcher marks each finding of lint once, with its severity and line" {
  cd "$project"
  local -a files=(examples/pitfalls/*.lua)
  marks "${files[@]}" | cut -d '|' -f 1-3 | sort >"$BATS_TEST_TMPDIR/marks"
  rlctl lint --json "${files[@]}" | gojq -r 'select(.finding and .line) |
    "\(if .severity == "critical" then "error" else .severity end)|\(.file)|\(.line)"' | sort >"$BATS_TEST_TMPDIR/findings"
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/findings")" "$(grep -c . "$BATS_TEST_TMPDIR/marks")"
  diff "$BATS_TEST_TMPDIR/findings" "$BATS_TEST_TMPDIR/marks"
}

@test "the example workflow lints what a pull request changes, and only critical findings fail it" {
  local script
  needs git
  script=$(as_json "$project/examples/workflows/lint.yml" | gojq -r '.jobs.lint.steps[] | .run // empty')
  git init -q -b main .
  git config user.name t
  git config user.email t@example.org
  cp "$project/lua/gcra.lua" unchanged.lua
  git add . && git commit -qm base
  BASE=$(git rev-parse HEAD)
  export BASE
  run -0 bash -e -c "$script"
  assert_output ''
  cp "$project/examples/pitfalls/whole-seconds.lua" 'a warning.lua'
  git add . && git commit -qm warning
  run -0 bash -e -c "$script"
  assert_output --partial 'a warning.lua:'
  refute_output --partial unchanged
  cp "$project/examples/pitfalls/dead-members.lua" critical.lua
  git add . && git commit -qm critical
  run -1 bash -e -c "$script"
  assert_output --partial ': critical: '
}

@test "the workflows may do no more than they need" {
  run -0 gojq -e '.permissions == {"contents": "read"}
    and ([.jobs[].steps[] | select(.run == ".ci/run")] | length == 1)' <(as_json "$project/.github/workflows/ci.yml")
  run -0 gojq -e '.permissions == {"contents": "write"} and .on == {"push": {"tags": ["v*"]}}' \
    <(as_json "$project/.github/workflows/release.yml" | sed 's/"true":/"on":/')
}
