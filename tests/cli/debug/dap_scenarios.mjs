// Sessions of `rlctl debug --dap`, held by the client by which VS Code's own debuggers are tested:
//
//   node dap_scenarios.mjs PACKAGES SERVER
//
// PACKAGES is a node_modules with @vscode/debugadapter-testsupport. The script is loop.lua in the current folder, which
// some sessions edit, and SERVER is the URL of a server where k is 41. What an editor may ask is tested with
// tests/support/dap.py; these sessions show that VS Code's client understands the answers. Nothing waits for ever: an
// event that does not come within a minute fails the session.
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {readFileSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {resolve} from 'node:path';

const [packages, server] = process.argv.slice(2);
const {DebugClient} = createRequire(`${resolve(packages)}/`)('@vscode/debugadapter-testsupport');
const kPatience = 60_000;
const kScript = resolve('loop.lua');

class Session extends DebugClient {
  constructor() {
    super('rlctl', 'debug --dap', 'rlctl', {shell: true}, true);
    this.defaultTimeout = kPatience;
    this.output = '';
    this.on('output', ({body}) => (this.output += body.output));
  }

  // Starts rlctl and launches loop.lua.
  async begin({breakpoints = [], ...how}) {
    await this.start();
    this.ended = once(this._adapterProcess, 'exit').then(([code]) => code);
    await this.initializeRequest();
    await Promise.all([this.waitForEvent('initialized'), this.send('launch', {program: kScript, keys: ['k'], ...how})]);
    const {body} = await this.setBreakpointsRequest({source: {path: kScript}, breakpoints});
    await this.setExceptionBreakpointsRequest({filters: ['uncaught']});
    return body.breakpoints;
  }

  // Sends a request; the script stops, for this reason, at the line that is returned.
  async stops(reason, request, body = {threadId: 1}) {
    const [event] = await Promise.all([this.waitForEvent('stopped'), this.send(request, body)]);
    assert.equal(event.body.reason, reason);
    return (await this.stackTraceRequest({threadId: 1})).body.stackFrames[0].line;
  }

  // Sends a request; the script ends with this code.
  async ends(exitCode, request, body = {threadId: 1}) {
    const [event] = await Promise.all([this.waitForEvent('exited'), this.waitForEvent('terminated'), this.send(request, body)]);
    assert.equal(event.body.exitCode, exitCode);
  }

  async values(name) {
    const {scopes} = (await this.scopesRequest({frameId: 1})).body;
    const {variablesReference} = scopes.find((one) => one.name === name);
    const {variables} = (await this.variablesRequest({variablesReference})).body;
    return Object.fromEntries(variables.map((one) => [one.name, one.value]));
  }

  async value(expression) {
    return (await this.evaluateRequest({expression, context: 'repl', frameId: 1})).body.result;
  }
}

const sessions = {
  async launch(s) {
    const [moved, exact] = await s.begin({args: ['a b'], breakpoints: [{line: 2}, {line: 9, condition: 'i == 3'}]});
    assert(moved.verified && [1, 3, 7].includes(moved.line), JSON.stringify(moved));
    assert(exact.verified && exact.line === 9, JSON.stringify(exact));
    assert.equal(await s.stops('breakpoint', 'configurationDone', {}), moved.line);
    assert.equal(await s.stops('breakpoint', 'continue'), 9);
    assert.equal((await s.values('Locals')).i, '3');
    await s.ends(0, 'continue');
    assert.match(s.output, /= \{6, "a b"\}\n {2}'k': not there → string, "6"/);
  },

  async steps(s) {
    await s.begin({breakpoints: [{line: 9}], stopOnEntry: true});
    assert.equal(await s.stops('entry', 'configurationDone', {}), 1);
    assert.equal(await s.stops('breakpoint', 'continue'), 9);
    assert.equal(await s.stops('step', 'stepIn'), 4);
    assert.deepEqual(await s.values('Upvalues'), {sum: '0'});
    assert.equal(await s.stops('step', 'stepOut'), 10);
    assert.equal(await s.stops('step', 'next'), 8);
    assert.equal(await s.value("redis.call('GET', key)"), '"1"');
    assert.deepEqual(await s.values('Keys in Redis'), {k: 'string, "1", no ttl'});
  },

  async copies(s) {
    await s.begin({server, breakpoints: [{line: 14}]});
    assert.equal(await s.stops('breakpoint', 'configurationDone', {}), 14);
    assert.equal(await s.value("redis.call('GET', KEYS[1])"), '"47"');
  },

  async error(s) {
    writeFileSync(kScript, "local x = 1\nredis.call('INCR', KEYS[1], 1)\n");
    await s.begin({});
    assert.equal(await s.stops('exception', 'configurationDone', {}), 2);
    const {description, breakMode} = (await s.exceptionInfoRequest({threadId: 1})).body;
    assert.match(description, /[Ww]rong number of arg/);
    assert.equal(breakMode, 'unhandled');
    await s.ends(5, 'continue');
  },

  async restart(s) {
    await s.begin({breakpoints: [{line: 14}]});
    assert.equal(await s.stops('breakpoint', 'configurationDone', {}), 14);
    writeFileSync(kScript, readFileSync(kScript, 'utf8').replace('1, 3 do', '1, 4 do'));
    assert.equal(await s.stops('breakpoint', 'restart', {}), 14);
    assert.equal(await s.value('sum'), '10');
  },

  async end(s) {
    writeFileSync(kScript, 'while true do end');
    await s.begin({});
    await s.configurationDoneRequest();
    assert.equal(await s.stops('pause', 'pause'), 1);
    await s.continueRequest({threadId: 1});
    await Promise.all([s.waitForEvent('terminated'), s.terminateRequest({})]);
  },
};

const script = readFileSync(kScript);
for (const [name, hold] of Object.entries(sessions)) {
  console.log(name);
  writeFileSync(kScript, script);
  const session = new Session();
  await hold(session);
  await session.disconnectRequest();
  assert.equal(await session.ended, 0);
}
