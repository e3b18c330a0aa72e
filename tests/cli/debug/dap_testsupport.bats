# needs: server
load ../../support/common

# `rlctl debug --dap` with the client by which VS Code's own debuggers are tested. dap_scenarios.mjs holds all sessions at
# once, and each test here looks up what became of its own. `.ci/run` installs the client from npm; without it these
# tests are skipped.

setup_file() {
  local packages=$project/.cache/npm/node_modules
  cd "$BATS_FILE_TMPDIR"
  export missing=''
  command -v node >/dev/null || missing='no node'
  [[ -e $packages/@vscode/debugadapter-testsupport ]] || missing="no @vscode/debugadapter-testsupport in $packages"
  if [[ $missing ]]; then return; fi
  start_server
  cli SET counted 41
  node "$project/tests/cli/debug/dap_scenarios.mjs" "$packages" sessions >results 2>errors || cat errors >&2
}

# passed SCENARIO: skips, or fails with what became of it.
passed() {
  if [[ $missing ]]; then skip "$missing; .ci/run installs it"; fi
  cd "$BATS_FILE_TMPDIR"
  grep -qx "ok $1" results || fail "$(grep "^not ok $1:" results || cat errors)"
}

@test "initialize comes first, and says what there is" { passed capabilities; }
@test "a script runs to its end and shows its calls, its reply and its keys" { passed runs; }
@test "args in one string have placeholders, which a limit fills" { passed placeholders; }
@test "a bundled script is launched with limits and a time" { passed bundled; }
@test "the keys are copied from a server, which is not changed" { passed server; }
@test "after a launch that failed for want of a server, another one succeeds" { passed no_server; }
@test "stopOnEntry stops before the first line" { passed entry; }
@test "breakpoints move to the nearest line that stops; a second one there, or in another file, is not verified" {
  passed breakpoints
}
@test "a condition decides; one that is no expression is not verified" { passed conditions; }
@test "a condition that fails stops, and says why" { passed failing_condition; }
@test "a thousand breakpoints are set and reached" { passed thousand; }
@test "the frames of a recursion are shown, all or some" { passed frames; }
@test "lines and columns may be counted from 0" { passed lines_from_0; }
@test "variables are exact, and tables open" { passed variables; }
@test "of a large table, the first thousand fields are shown" { passed large_table; }
@test "Unicode, zero bytes and invalid bytes are exact, in values, keys and the name of the file" { passed bytes; }
@test "a value of 100,000 bytes is shown, and evaluated where the server can" { passed large_value; }
@test "hover, watch and the console evaluate what each of them may" { passed evaluation; }
@test "next, stepIn, stepOut and continue" { passed steps; }
@test "an endless loop is paused, gets breakpoints while it runs, and is terminated" { passed pause; }
@test "restart reads the edited file and keeps the breakpoints" { passed restarts; }
@test "restart ends a script that runs" { passed restarts_while_running; }
@test "terminate ends the script; restart starts it again" { passed terminates; }
@test "an error of the script, and an error as its reply, are shown" { passed errors; }
@test "errors stop the script only with their filter, and only uncaught ones" { passed caught; }
@test "a function breakpoint stops before each call of a command" { passed calls; }
@test "breakOnDeny stops before the last line of a denied call" { passed denied; }
@test "a script that does not compile ends at once, and is restarted when it is mended" { passed broken; }
@test "what the script logs is shown" { passed logs; }
@test "redis.breakpoint() stops" { passed breakpoint_call; }
@test "a script that calls 20,000 commands ends" { passed many_calls; }
@test "wrong requests, and requests in the wrong order, are refused" { passed wrong_requests; }
@test "requests in pieces, and messages that are none, are answered" { passed in_pieces; }
@test "a server killed at a stop ends the script; restart starts another one" { passed server_killed; }
@test "a server killed in an endless loop ends the script" { passed server_killed_while_running; }
@test "an editor that vanishes at a stop leaves nothing" { passed adapter_killed; }
@test "an editor that vanishes in an endless loop leaves nothing" { passed vanishes; }
@test "two sessions, one after another, each start on the original state" { passed two_sessions; }
@test "two sessions at the same time do not meet" { passed side_by_side; }
@test "hit counts, alone and with conditions" { passed hits; }
@test "messages are written instead of stops" { passed messages; }
@test "a request of a log is debugged, on what the earlier ones left" { passed replays; }
@test "commands prepare the keys" { passed prepared; }
@test "attach runs the script in a fork of the server, which is not changed" { passed attaches; }
@test "the client's own helpers work" { passed helpers; }
@test "each scenario has a test" {
  run -0 diff <(sed -nE 's/^  async ([a-z0-9_]+)\(s\) \{$/\1/p' "$project/tests/cli/debug/dap_scenarios.mjs" | sort) \
    <(sed -nE 's/.*\bpassed ([a-z0-9_]+).*/\1/p' "$BATS_TEST_FILENAME" | sort)
}
