# needs: server
load ../support/common

# The tutorial of `rlctl debug` shows its true output.

setup() {
  cp "$project"/examples/debugging/* "$BATS_TEST_TMPDIR"
  cd "$BATS_TEST_TMPDIR" || return
}

# shown_session COMMAND <SHOWN: runs COMMAND with the commands that follow "debug> " in SHOWN, and prints the
# output with these lines in their places. An invalid command before each one marks its place.
shown_session() {
  local typed line
  mapfile -t typed < <(sed -n 's/^debug> //p')
  if ((${#typed[@]} == 0)); then
    eval "$1" 2>&1
    return
  fi
  for line in "${typed[@]}"; do printf '%%\n%s\n' "$line"; done >commands
  # At the end it reports that there were invalid commands.
  eval "$1" <commands 2>&1 | grep -v 'of the commands failed' | while IFS= read -r line; do
    if [[ $line == "!   unknown command '%'"* ]]; then
      line="debug> ${typed[0]}"
      typed=("${typed[@]:1}")
    fi
    printf '%s\n' "$line"
  done
}

# blocks_come_out <SHOWN: runs the commands that follow "$ " and compares each output with the one shown.
blocks_come_out() {
  awk '/^\$ / { n++ } { print >(sprintf("%02d", n) ".block") }'
  local block command
  for block in [0-9][0-9].block; do
    command=$(sed -n '1s/^\$ //p' "$block")
    shown_session "$command" <"$block" >came
    diff -u "$block" <(echo "\$ $command" | cat - came)
  done
}

@test "the output in the README of examples/debugging is correct" {
  awk '/^```console$/ { on = 1; next } /^```/ { on = 0 } on' README.md >shown
  blocks_come_out <shown
  assert [ -s 06.block ]
}

@test "the commands in editors.md write the log, with which launch.json stops in the second request" {
  cp -R "$project/examples/debugging/.vscode" .
  run -0 sed -n 's/^\$ //p' editors.md
  bash -euo pipefail -c "$output"
  # The page shows the configuration as the file has it.
  diff <(jq '.configurations[0]' .vscode/launch.json) <(sed -n '/^```json$/,/^```$/{/^```/!p}' editors.md | jq .)
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$project/tests/support run -0 python3 - <<'END'
import json, os
from dap import Client
text = open(".vscode/launch.json").read().replace("${workspaceFolder}", os.getcwd())
with Client() as c:
    c.launch(breakpoints=[9], **json.loads(text)["configurations"][0])
    assert c.stopped()["reason"] == "breakpoint"
    assert c.scope("Locals")["count"] == "1"
    assert c.value("redis.call('ZRANGE', key, 0, -1)") == '{"1767225600000"}'
    assert c.move("next") == 10
    assert "ZADD 1 1767225600000 1767225600000      0" in c.output, c.output
END
}

@test "the extension and editors.md tell the editors of the same task" {
  sed -n '/"tasks"/,$p' "$project/editors/vscode/README.md" | sed '/^```/,$d' >shown
  diff <(jq '.tasks[0] | del(.group)' "$project/examples/debugging/.vscode/tasks.json") \
    <(sed '1s/^/{/' shown | jq '.tasks[0] | del(.group)')
}
