load ../../support/common

# `rlctl debug --dap` with the client by which VS Code's own debuggers are tested.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  unset RLCTL_URL
}

@test "VS Code's test client launches, hits a breakpoint and runs to the end" {
  [[ ${RLCTL_TEST_ALL-} ]] || skip 'needs the network, for the client; RLCTL_TEST_ALL=1 asks npm for it'
  command -v node >/dev/null && command -v npm >/dev/null || skip 'npm is not installed'
  timeout 120 npm install --fetch-retries 0 --no-audit --no-fund --prefix . @vscode/debugadapter-testsupport >log 2>&1 ||
    skip "npm cannot install @vscode/debugadapter-testsupport: $(grep . log | tail -n 1)"
  printf '%s\n' 'local a = tonumber(ARGV[1])' 'local b = a + 1' 'return b' >add.lua
  cat >steps.js <<'END'
const assert = require('assert');
const {DebugClient} = require('@vscode/debugadapter-testsupport');
(async () => {
  const client = new DebugClient('rlctl', '-u private: debug --dap', 'rlctl', {shell: true});
  await client.start();
  const program = process.cwd() + '/add.lua';
  await client.hitBreakpoint({program, args: ['1700000000123456']}, {path: program, line: 3});
  const {stackFrames} = (await client.stackTraceRequest({threadId: 1})).body;
  const {scopes} = (await client.scopesRequest({frameId: stackFrames[0].id})).body;
  const locals = await client.variablesRequest({variablesReference: scopes[0].variablesReference});
  assert.deepStrictEqual(locals.body.variables.map(one => one.name + '=' + one.value),
                         ['a=1700000000123456', 'b=1700000000123457']);
  await Promise.all([client.waitForEvent('terminated'), client.continueRequest({threadId: 1})]);
  await client.disconnectRequest({});
  await client.stop();
})().then(() => process.exit(0), error => { console.error(error); process.exit(1); });
END
  run -0 timeout 300 node steps.js
  nothing_is_left
}
