# needs: server
load ../../support/common
load ../../support/dap

# Six sessions of `rlctl debug --dap` with the client by which VS Code's own debuggers are tested. `.ci/run` installs
# the client from npm; without it these tests are skipped.

# holds_session NAME: holds this session of dap_scenarios.mjs on a server where k is 41. Nothing is left of it.
holds_session() {
  local packages=$project/.cache/npm/node_modules
  needs node
  [[ -e $packages/@vscode/debugadapter-testsupport ]] || skip "no client in $packages; .ci/run installs it"
  start_server
  cli SET k 41
  [[ $1 == copies ]] || export RLCTL_URL=private:
  run_with_timeout -0 node "$project/tests/cli/debug/dap_scenarios.mjs" "$packages" "$1"
  assert_equal "$(cli GET k)" 41
  nothing_is_left
}

@test "VS Code's client: launch, breakpoints, and the end of the script" { holds_session launch; }
@test "VS Code's client: steps, variables and evaluation" { holds_session steps; }
@test "VS Code's client: a launch with the keys of a server, which is not changed" { holds_session copies; }
@test "VS Code's client: an error stops the script, and has a description" { holds_session error; }
@test "VS Code's client: restart runs the edited script and keeps the breakpoints" { holds_session restart; }
@test "VS Code's client: an endless script is paused, continued and terminated" { holds_session end; }
