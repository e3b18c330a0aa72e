# needs: server
load ../../support/common
load ../../support/dap

# Sessions of `rlctl debug --dap` with the client by which VS Code's own debuggers are tested. `.ci/run` installs the
# client from npm; without it this test is skipped.

@test "VS Code's client launches, steps, restarts and ends scripts, and a server whose keys they have is not changed" {
  local server packages=$project/.cache/npm/node_modules
  needs nodejs node
  [[ -e $packages/@vscode/debugadapter-testsupport ]] || skip 'needs packages of npm, which .ci/run installs'
  start_server
  cli SET k 41
  server=$RLCTL_URL
  export RLCTL_URL=private:
  run_with_timeout -0 node "$project/tests/cli/debug/dap_scenarios.mjs" "$packages" "$server"
  # The last session.
  assert_line end
  assert_equal "$(cli GET k)" 41
  nothing_is_left
}
