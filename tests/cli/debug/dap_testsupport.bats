# needs: server
load ../../support/common
load ../../support/dap

# Six sessions of `rlctl debug --dap` with the client by which VS Code's own debuggers are tested. `.ci/run` installs
# the client from npm; without it these tests are skipped.

# session NAME: holds this session of dap_scenarios.mjs on a server where k is 41. Nothing is left of it.
session() {
  local packages=$project/.cache/npm/node_modules
  command -v node >/dev/null || skip 'no node; .ci/run installs it'
  [[ -e $packages/@vscode/debugadapter-testsupport ]] || skip "no client in $packages; .ci/run installs it"
  start_server
  cli SET k 41
  [[ $1 == attach ]] || export RLCTL_URL=private:
  run_with_timeout -0 node "$project/tests/cli/debug/dap_scenarios.mjs" "$packages" "$1"
  assert_equal "$(cli GET k)" 41
  nothing_is_left
}

@test "VS Code's client: launch, breakpoints, and the end of the script" { session launch; }
@test "VS Code's client: steps, variables and evaluation" { session steps; }
@test "VS Code's client: attach to a server, which is not changed" { session attach; }
@test "VS Code's client: an error stops the script, and has a description" { session error; }
@test "VS Code's client: restart runs the edited script and keeps the breakpoints" { session restart; }
@test "VS Code's client: an endless script is paused, continued and terminated" { session end; }
