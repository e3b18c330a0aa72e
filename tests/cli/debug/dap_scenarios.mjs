// Sessions of `rlctl debug --dap`, held by the client by which VS Code's own debuggers are tested:
//
//   node dap_scenarios.mjs PACKAGES FOLDER [NAME…]
//
// PACKAGES is a node_modules with @vscode/debugadapter-testsupport. Each scenario has a folder in FOLDER. Prints
// "ok NAME" or "not ok NAME: why" for each. Nothing waits for ever: an event that does not come within a minute
// fails its scenario, and 80 seconds end it: less than what tests/run gives to all of them, so that it says which.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {once} from 'node:events';
import {mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join, resolve} from 'node:path';

const [packages, root] = process.argv.slice(2, 4).map((path) => resolve(path));
const wanted = process.argv.slice(4);
const {DebugClient} = createRequire(`${packages}/`)('@vscode/debugadapter-testsupport');
const kPatience = 60_000;
const kEvents = ['initialized', 'stopped', 'continued', 'exited', 'terminated', 'breakpoint', 'output'];

const kLoop = `local key, sum = KEYS[1], 0

local function add(n)
  local before = sum
  sum = sum + n
  return before
end
for i = 1, 3 do
  add(i)
  redis.call('INCRBY', key, i)
end
return {sum, ARGV[1]}
`;
const kEndless = 'local n = 0\nwhile true do\n  n = n + 1\nend\n';

class Session extends DebugClient {
  constructor(folder, options = '-u private:') {
    const environment = {...process.env, TMPDIR: join(folder, 'tmp')};
    super('rlctl', `${options} debug --dap`, 'rlctl', {shell: true, cwd: folder, env: environment}, true);
    this.defaultTimeout = kPatience;
    this.folder = folder;
    this.output = '';
    this.events = [];
    this.awaited = [];
    for (const name of kEvents) this.on(name, (event) => this.came(event));
  }

  came(event) {
    if (event.event === 'output') return void (this.output += event.body.output);
    const waiting = this.awaited.findIndex((one) => one.name === event.event);
    if (waiting >= 0) this.awaited.splice(waiting, 1)[0].resolve(event.body);
    else this.events.push(event);
  }

  // The body of the next event of this name, which may have come already.
  async event(name) {
    const there = this.events.findIndex((one) => one.event === name);
    if (there >= 0) return this.events.splice(there, 1)[0].body;
    let timer;
    const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`no event ${name}`)), kPatience)));
    const came = new Promise((resolve) => this.awaited.push({name, resolve}));
    return Promise.race([came, late]).finally(() => clearTimeout(timer));
  }

  // Starts rlctl; ended is its exit code, later.
  async start() {
    await super.start();
    this.ended = once(this._adapterProcess, 'exit').then(([code]) => code);
  }

  // The body of the answer to a request that succeeds.
  async ask(command, body = {}) {
    return (await this.send(command, {threadId: 1, ...body})).body;
  }

  // The message of the answer to a request that fails.
  async refused(command, body = {}) {
    const body_or_error = await this.send(command, body).catch((error) => error);
    assert(body_or_error instanceof Error, `${command} was not refused: ${JSON.stringify(body_or_error)}`);
    return body_or_error.message;
  }

  write(name, text) {
    writeFileSync(join(this.folder, name), text);
    return join(this.folder, name);
  }

  // Launches a script of this text, or a bundled one; breakpoints are lines, or as in setBreakpoints.
  async begin(text, {breakpoints, name = 'script.lua', bundled, ...launch} = {}) {
    await this.start();
    this.path = text === null ? bundled : this.write(name, text);
    await this.initializeRequest();
    await this.ask('launch', {program: this.path, ...launch});
    await this.event('initialized');
    const set = breakpoints && (await this.breakpoints(breakpoints));
    await this.ask('configurationDone');
    return set;
  }

  async breakpoints(lines, path = this.path) {
    const breakpoints = lines.map((line) => (typeof line === 'number' ? {line} : line));
    return (await this.ask('setBreakpoints', {source: {path}, breakpoints})).breakpoints;
  }

  async stopped(reason) {
    const body = await this.event('stopped');
    if (reason) assert.equal(body.reason, reason);
    return this.line();
  }

  async frames(body = {}) { return (await this.ask('stackTrace', body)).stackFrames; }
  async line() { return (await this.frames())[0].line; }

  // Moves the script; the line at which it stops.
  async move(command) {
    await this.ask(command);
    return this.stopped();
  }

  async variables(variablesReference) {
    const {variables} = await this.ask('variables', {variablesReference});
    return Object.fromEntries(variables.map((one) => [one.name, one]));
  }

  async scope(name, frameId = 1) {
    const {scopes} = await this.ask('scopes', {frameId});
    return this.variables(scopes.find((one) => one.name === name).variablesReference);
  }

  async values(name, frameId = 1) {
    return Object.fromEntries(Object.values(await this.scope(name, frameId)).map((one) => [one.name, one.value]));
  }

  async value(expression, context = 'repl') {
    return (await this.ask('evaluate', {expression, context, frameId: 1})).result;
  }

  // The exit code of the script, which has ended.
  async finished() {
    const {exitCode} = await this.event('exited');
    await this.event('terminated');
    return exitCode;
  }

  // Disconnects. rlctl ends with status 0.
  async leave() {
    await this.ask('disconnect');
    assert.equal(await this.ended, 0);
  }

  // Sends these bytes as they are.
  raw(bytes) { this._adapterProcess.stdin.write(bytes); }
}

// The bytes of a string as Lua writes it, in Latin-1.
function bytes_of(literal) {
  assert.match(literal, /^".*"$/);
  return Buffer.from(literal.slice(1, -1)).toString('latin1').replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(code));
}

// The processes of rlctl's private server.
function servers(folder) {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`).startsWith(join(folder, 'tmp'));
    } catch { return false; }
  });
}

const scenarios = {
  async capabilities(s) {
    await s.start();
    assert.match(await s.refused('threads'), /the first request is initialize/);
    const {body} = await s.initializeRequest();
    for (const what of ['ConfigurationDoneRequest', 'ConditionalBreakpoints', 'EvaluateForHovers', 'TerminateRequest',
                        'RestartRequest', 'FunctionBreakpoints', 'ExceptionInfoRequest']) {
      assert.equal(body[`supports${what}`], true, what);
    }
    await s.refused('initialize');
    await s.leave();
  },

  async runs(s) {
    await s.begin(kLoop, {keys: ['k'], args: ['a b']});
    assert.equal(await s.finished(), 0);
    assert.match(s.output, /redis> INCRBY k 3 +(\(ran freely\)|6)\n/);
    assert.match(s.output, /= \{6, "a b"\}/);
    assert.match(s.output, /'k': not there → string, "6"/);
    for (const command of ['next', 'stackTrace']) {
      assert.match(await s.refused(command, {threadId: 1}), /has ended/, command);
    }
    await s.ask('pause', {threadId: 1});
    await s.leave();
  },

  async placeholders(s) {
    await s.start();
    const script = s.write('limiter.lua', 'return {tonumber(ARGV[1]), ARGV[2], ARGV[3]}');
    await s.initializeRequest();
    await s.ask('launch', {script, keys: 'k', args: "{window_ms} {limit} 'a b'", limit: '5/60s'});
    await s.event('initialized');
    await s.ask('configurationDone');
    assert.equal(await s.finished(), 0);
    assert.match(s.output, /= \{60000, "5", "a b"\}/);
    await s.leave();
  },

  async bundled(s) {
    await s.begin(null, {bundled: 'gcra', keys: ['k'], limit: ['5/60s', '9/1h'], now: '1795600000000000', stopOnEntry: true});
    const line = await s.stopped('entry');
    const {name, path, sourceReference} = (await s.frames())[0].source;
    assert.equal(name, 'gcra.lua');
    const text = path ? readFileSync(path, 'utf8') : (await s.ask('source', {sourceReference})).content;
    assert.match(text.split('\n')[line - 1], /\S/);
    await s.ask('continue');
    assert.equal(await s.finished(), 0);
    assert.match(s.output, /= \{1, 4, 0, 400000000, 0, 0\}/);
    await s.leave();
  },

  async server(s) {
    const url = process.env.RLCTL_URL;
    await s.begin(kLoop, {keys: ['counted'], server: url, breakpoints: [12]});
    await s.stopped('breakpoint');
    assert.deepEqual(await s.values('Keys in Redis'), {counted: 'string, "47", no ttl'});
    await s.leave();
    assert.equal(execFileSync('redis-cli', ['-s', url.replace('unix://', ''), 'GET', 'counted']).toString(), '41\n');
  },

  async no_server(s) {
    await s.start();
    await s.initializeRequest();
    const program = s.write('script.lua', kLoop);
    assert.match(await s.refused('launch', {program, keys: ['k'], server: `unix://${s.folder}/none`}), /none/);
    await s.ask('launch', {program, keys: ['k'], server: 'private:'});
    await s.leave();
  },

  async entry(s) {
    await s.begin(kLoop, {keys: ['k'], stopOnEntry: true});
    assert.equal(await s.stopped('entry'), 1);
    assert.deepEqual(await s.values('KEYS'), {'[1]': '"k"'});
    assert.deepEqual(await s.values('ARGV'), {});
    assert.deepEqual(await s.values('Keys in Redis'), {k: 'no such key'});
    await s.leave();
  },

  async breakpoints(s) {
    const [moved, exact, again] = await s.begin(kLoop, {keys: ['k'], breakpoints: [2, 9, 9]});
    assert(moved.verified && [1, 3, 7].includes(moved.line) && /nearest/.test(moved.message), JSON.stringify(moved));
    assert(exact.verified && exact.line === 9 && !exact.message, JSON.stringify(exact));
    assert.equal(again.verified, false);
    assert.equal(await s.stopped('breakpoint'), moved.line);
    const other = s.write('other.lua', kLoop);
    assert.equal((await s.breakpoints([1], other))[0].verified, false);
    assert.deepEqual(await s.breakpoints([]), []);
    await s.ask('continue');
    assert.equal(await s.finished(), 0);
    await s.leave();
  },

  async conditions(s) {
    const [set] = await s.begin(kLoop, {keys: ['k'], breakpoints: [{line: 9, condition: 'i == 3'}]});
    assert(set.verified);
    assert.equal(await s.stopped('breakpoint'), 9);
    assert.equal((await s.values('Locals')).i, '3');
    const [wrong] = await s.breakpoints([{line: 9, condition: 'i =='}]);
    assert(!wrong.verified && /not an expression/.test(wrong.message), JSON.stringify(wrong));
    await s.leave();
  },

  async failing_condition(s) {
    await s.begin(kLoop, {keys: ['k'], breakpoints: [{line: 9, condition: 'i.x.y'}]});
    const {reason, text} = await s.event('stopped');
    assert.equal(reason, 'breakpoint');
    assert.match(text, /index/);
    await s.leave();
  },

  async thousand(s) {
    const lines = Array.from({length: 1000}, (_, i) => `x = ${i + 1}`);
    const set = await s.begin(`local x\n${lines.join('\n')}\nreturn x`, {breakpoints: lines.map((_, i) => i + 2)});
    assert.equal(set.length, 1000);
    assert(set.every((one, i) => one.verified && one.line === i + 2));
    assert.equal(await s.stopped('breakpoint'), 2);
    for (const line of [3, 4, 5]) assert.equal(await s.move('continue'), line);
    await s.breakpoints([1001]);
    assert.equal(await s.move('continue'), 1001);
    assert.deepEqual(await s.values('Locals'), {x: '999'});
    await s.leave();
  },

  async frames(s) {
    await s.begin('local function f(n)\n  if n == 0 then\n    return 0\n  end\n  return 1 + f(n - 1)\nend\nreturn f(3)',
                  {breakpoints: [3]});
    assert.equal(await s.stopped('breakpoint'), 3);
    const {stackFrames, totalFrames} = await s.ask('stackTrace');
    assert.deepEqual(stackFrames.map((one) => one.line), [3, 5, 5, 5, 7]);
    assert.equal(totalFrames, 5);
    assert(stackFrames.every((one) => one.source.path === s.path && one.column === 1));
    assert.deepEqual((await s.frames({startFrame: 3, levels: 1})).map((one) => one.line), [5]);
    assert.deepEqual((await s.frames({startFrame: 9})).map((one) => one.line), []);
    assert.equal((await s.values('Locals')).n, '0');
    assert.equal((await s.ask('threads')).threads[0].id, 1);
    await s.leave();
  },

  async lines_from_0(s) {
    await s.start();
    s.path = s.write('script.lua', kLoop);
    await s.initializeRequest({adapterID: 'rlctl', linesStartAt1: false, columnsStartAt1: false});
    await s.ask('launch', {program: s.path, keys: ['k']});
    await s.event('initialized');
    assert.equal((await s.breakpoints([8]))[0].line, 8);
    await s.ask('configurationDone');
    assert.equal(await s.stopped('breakpoint'), 8);
    assert.equal((await s.frames())[0].column, 0);
    await s.leave();
  },

  async variables(s) {
    await s.begin(`local time, huge, float, whole = 1795600000123456, 2^63, 0.1, -0
local t = {a = {1, 1700000000123456}, [true] = 'x', ['b c'] = 2, f = function() end}
local none
t.self = t
return time`, {breakpoints: [5]});
    await s.stopped('breakpoint');
    const local = await s.scope('Locals');
    assert.equal(local.time.value, '1795600000123456');
    assert.equal(local.time.type, 'number');
    assert.equal(local.float.value, '0.1');
    assert.equal(local.none.value, 'nil');
    const t = await s.variables(local.t.variablesReference);
    assert.equal(t['["b c"]'].value, '2');
    assert.equal(t['[true]'].value, '"x"');
    assert.equal(t.a.evaluateName, 't.a');
    assert.equal((await s.variables(t.a.variablesReference))['[2]'].value, '1700000000123456');
    assert.match(await s.refused('variables', {variablesReference: 99999}), /no such variables/);
    await s.ask('continue');
    await s.finished();
    await s.refused('variables', {variablesReference: local.t.variablesReference});
    await s.leave();
  },

  async large_table(s) {
    await s.begin('local t = {}\nfor i = 1, 3000 do t[i] = i end\nreturn #t', {breakpoints: [3]});
    await s.stopped('breakpoint');
    const {t} = await s.scope('Locals');
    const fields = await s.variables(t.variablesReference);
    assert.equal(Object.keys(fields).length, 1001);
    assert.match(fields['...'].value, /not shown/);
    assert.match(await s.refused('evaluate', {expression: 't[3000]', context: 'hover'}), /too large/);
    assert.equal(await s.value('t[1000]', 'hover'), '1000');
    await s.leave();
  },

  async bytes(s) {
    await s.begin(`local word, nul, invalid, escape = 'größe €😀', 'a\\0b', '\\255\\254', '\\27[31m'
local t = {['größe'] = 'ä\u202e'}
redis.call('SET', KEYS[1], ARGV[1] .. nul .. invalid)
return redis.call('GET', KEYS[1])`, {keys: ['schlüssel 😀'], args: ['é'], breakpoints: [4], name: 'größe 1.lua'});
    assert.equal(await s.stopped('breakpoint'), 4);
    const local = await s.values('Locals');
    assert.equal(local.word, '"größe €😀"');
    assert.equal(bytes_of(local.nul), 'a\0b');
    assert.equal(bytes_of(local.invalid), '\xff\xfe');
    const t = await s.scope('Locals').then(({t}) => s.variables(t.variablesReference));
    assert.deepEqual([t['["größe"]'].value, t['["größe"]'].evaluateName], ['"ä\\226\\128\\174"', 't["größe"]']);
    assert.equal(await s.value('t["größe"]', 'hover'), t['["größe"]'].value);
    assert(!local.escape.includes('\x1b'), local.escape);
    assert.equal((await s.values('KEYS'))['[1]'], '"schlüssel 😀"');
    assert.match((await s.values('Keys in Redis'))['schlüssel 😀'], /^string, ".*a\\x00b\\xff\\xfe", no ttl$/);
    assert.equal(await s.value('#redis.call("GET", KEYS[1])'), '7');
    assert.equal(await s.value('"\0" == nul:sub(2, 2)'), 'true');
    assert.match((await s.frames())[0].source.path, /größe 1\.lua$/);
    await s.ask('continue');
    assert.equal(await s.finished(), 0);
    assert(!s.output.includes('\0') && !s.output.includes('\ufffd'), s.output);
    await s.leave();
  },

  async large_value(s) {
    await s.begin("local text = string.rep('x', 100000)\nreturn #text", {breakpoints: [2]});
    await s.stopped('breakpoint');
    // Valkey 9's debugger takes little code.
    assert.match(await s.value('#text', 'watch').catch((error) => error.message), /^100000$|than the debugger takes$/);
    assert.match((await s.values('Locals')).text, /^"xxx/);
    await s.leave();
  },

  async evaluation(s) {
    await s.begin(kLoop, {keys: ['k'], breakpoints: [{line: 10, condition: 'i == 2'}]});
    await s.stopped('breakpoint');
    assert.equal(await s.value('sum', 'hover'), '3');
    assert.equal(await s.value('KEYS[1]', 'hover'), '"k"');
    assert.match(await s.refused('evaluate', {expression: "redis.call('DEL', key)", context: 'hover'}), /only variables/);
    assert.equal(await s.value("redis.call('GET', key)", 'watch'), '"1"');
    assert.match(await s.refused('evaluate', {expression: '(function() while true do end end)()', context: 'watch'}),
                 /may not end/);
    assert.equal(await s.value("redis.call('SET', key, 40) and 1, 2", 'repl'), '1, 2');
    assert.equal(await s.value("redis.call('GET', key)"), '"40"');
    for (const expression of ['1 +', '', 'error("no")', 'undefined_name']) {
      assert.notEqual(await s.refused('evaluate', {expression, context: 'repl'}), '', expression);
    }
    await s.ask('continue');
    assert.equal(await s.finished(), 0);
    assert.match(s.output, /'k': not there → string, "45"/);
    await s.leave();
  },

  async steps(s) {
    await s.begin(kLoop, {keys: ['k'], stopOnEntry: true, breakpoints: [9]});
    await s.stopped('entry');
    assert.equal(await s.move('continue'), 9);
    assert.equal(await s.move('next'), 10);
    assert.equal(await s.move('continue'), 9);
    assert.equal(await s.move('stepIn'), 4);
    assert.deepEqual((await s.frames()).map((one) => one.line), [4, 9]);
    assert.equal((await s.values('Upvalues')).sum, '1');
    assert.equal(await s.move('next'), 5);
    assert.equal(await s.move('stepOut'), 10);
    assert.equal((await s.values('Locals')).sum, '3');
    await s.leave();
  },

  async pause(s) {
    await s.begin(kEndless);
    assert.match(await s.refused('stackTrace', {threadId: 1}), /is running/);
    await s.ask('pause');
    const line = await s.stopped('pause');
    assert([1, 2, 3].includes(line), line);
    await s.ask('continue');
    assert((await s.breakpoints([3]))[0].verified);
    assert.equal(await s.stopped('breakpoint'), 3);
    await s.breakpoints([]);
    await s.ask('continue');
    await s.ask('terminate');
    await s.event('terminated');
    await s.leave();
  },

  async restarts(s) {
    await s.begin(kLoop, {keys: ['k'], breakpoints: [12]});
    await s.stopped('breakpoint');
    assert.equal(await s.value('sum'), '6');
    s.write('script.lua', 'return = 1');
    assert.match(await s.refused('restart'), /does not compile/);
    s.write('script.lua', kLoop.replace('1, 3 do', '1, 4 do'));
    await s.ask('restart');
    assert.equal(await s.stopped('breakpoint'), 12);
    assert.deepEqual(await s.values('Keys in Redis'), {k: 'string, "10", no ttl'});
    await s.ask('continue');
    assert.equal(await s.finished(), 0);
    await s.ask('restart');
    assert.equal(await s.stopped('breakpoint'), 12);
    await s.leave();
  },

  async restarts_while_running(s) {
    await s.begin(kEndless);
    await s.ask('restart');
    await s.ask('pause');
    await s.stopped('pause');
    s.write('script.lua', 'return 7');
    await s.ask('restart');
    assert.equal(await s.finished(), 0);
    assert.match(s.output, /= 7/);
    await s.leave();
  },

  async terminates(s) {
    await s.begin(kLoop, {keys: ['k'], breakpoints: [9]});
    await s.stopped('breakpoint');
    await s.ask('terminate');
    await s.event('terminated');
    assert.match(await s.refused('terminate'), /has ended/);
    assert.match(await s.refused('continue', {threadId: 1}), /has ended/);
    await s.ask('restart');
    assert.equal(await s.stopped('breakpoint'), 9);
    await s.leave();
  },

  async errors(s) {
    await s.begin("local x = 1\nredis.call('INCR', KEYS[1], 1)\n", {keys: ['k']});
    assert.equal(await s.stopped('exception'), 2);
    const {description, breakMode} = await s.ask('exceptionInfo');
    assert.match(description, /[Ww]rong number of arg/);
    assert.equal(breakMode, 'unhandled');
    assert.deepEqual(await s.values('Locals'), {x: '1'});
    await s.ask('continue');
    assert.equal(await s.finished(), 5);
    assert.match(s.output, /line 2: .*[Ww]rong number of arg/);
    s.write('script.lua', "return redis.error_reply('LIMIT too many')");
    await s.ask('restart');
    assert.equal(await s.finished(), 5);
    assert.match(s.output, /LIMIT too many/);
    await s.leave();
  },

  // Once without the filter of errors.
  async caught(s) {
    await s.begin("pcall(error, 'x')\nlocal t = {}\nreturn t.a.b", {breakpoints: [2]});
    assert.equal(await s.stopped('breakpoint'), 2);
    await s.ask('setExceptionBreakpoints', {filters: []});
    await s.ask('continue');
    assert.equal(await s.finished(), 5);
    await s.ask('setExceptionBreakpoints', {filters: ['uncaught']});
    await s.breakpoints([]);
    await s.ask('restart');
    assert.equal(await s.stopped('exception'), 3);
    await s.ask('terminate');
    await s.leave();
  },

  async calls(s) {
    const text = "local call = redis.call\nfor i = 1, 2 do\n  local n = call('incrby', KEYS[1], i)\nend\nreturn 1";
    await s.begin(text, {keys: ['k'], stopOnEntry: true});
    await s.stopped('entry');
    const {breakpoints} = await s.ask('setFunctionBreakpoints', {breakpoints: [{name: 'INCRBY'}, {name: 'f()'}]});
    assert.deepEqual(breakpoints.map((one) => one.verified), [true, false]);
    for (const i of ['1', '2']) {
      await s.ask('continue');
      assert.equal(await s.stopped('function breakpoint'), 3);
      assert.equal((await s.values('Locals')).i, i);
      assert.equal(await s.value("redis.call('GET', KEYS[1])"), i === '1' ? 'false' : '"1"');
    }
    await s.ask('continue');
    assert.equal(await s.finished(), 0);
    await s.leave();
  },

  async denied(s) {
    const text = "local n = redis.call('INCR', KEYS[1])\nif n > 0 then\n  return 0\nend\nreturn 1";
    await s.begin(text, {keys: ['k'], breakOnDeny: true});
    assert.equal(await s.stopped(), 3);
    assert.deepEqual(await s.values('Locals'), {n: '1'});
    await s.ask('continue');
    assert.equal(await s.finished(), 0);
    await s.leave();
  },

  async broken(s) {
    const [set] = await s.begin('return = 1', {breakpoints: [1]});
    assert.equal(set.verified, false);
    assert.equal(await s.finished(), 5);
    assert.match(s.output, /line 1/);
    s.write('script.lua', 'return 1');
    await s.ask('restart');
    await Promise.race([s.event('stopped'), s.finished()]);
    await s.leave();
  },

  async logs(s) {
    await s.begin("redis.log(redis.LOG_WARNING, 'größe')\nredis.debug({1, 'x'})\nreturn 1", {stopOnEntry: true});
    await s.stopped('entry');
    await s.move('next');
    await s.move('next');
    assert.match(s.output, /log> warning: größe/);
    assert.match(s.output, /debug> \{1; /);
    await s.leave();
  },

  async breakpoint_call(s) {
    await s.begin('local x = 1\nredis.breakpoint()\nx = 2\nreturn x');
    const {reason, description} = await s.event('stopped');
    assert.equal(reason, 'breakpoint');
    assert.equal(description, 'redis.breakpoint()');
    await s.leave();
  },

  async many_calls(s) {
    await s.begin("for i = 1, 20000 do\n  redis.call('PING')\nend\nreturn 1");
    assert.equal(await s.finished(), 0);
    assert.match(s.output, /= 1/);
    await s.leave();
  },

  async wrong_requests(s) {
    await s.start();
    for (const command of ['launch', 'threads', 'next', 'setBreakpoints', 'evaluate']) {
      assert.match(await s.refused(command), /initialize/);
    }
    await s.initializeRequest();
    for (const command of ['configurationDone', 'next', 'stackTrace', 'setBreakpoints', 'variables', 'restart', 'terminate']) {
      assert.match(await s.refused(command), /launch/, command);
    }
    assert.match(await s.refused('stepBack'), /does not support/);
    assert.match(await s.refused(`${'x'.repeat(100)}\0\n`), /does not support/);
    const program = s.write('script.lua', kLoop);
    for (const launch of [{}, {program: 7}, {program, keys: {}}, {program, keys: [1]}, {program, args: [null]},
                          {program, script: program}, {program, stopOnEntry: 'yes'}, {program, limit: 5},
                          {program, limit: 'x'}, {program, now: 'x'}, {program, server: 'http://x'}, {program, server: 7},
                          {program: '/none.lua'}, {program: s.folder}, {program, keys: [',']}]) {
      assert.notEqual(await s.refused('launch', launch), '', JSON.stringify(launch));
    }
    await s.ask('launch', {program, keys: ['k']});
    assert.match(await s.refused('setBreakpoints', {}), /"source" is missing/);
    assert.match(await s.refused('setBreakpoints', {source: {path: program}, breakpoints: 'x'}), /must be an array/);
    // A source of no name is another one, without breakpoints.
    for (const source of [{}, 7]) assert.deepEqual(await s.ask('setBreakpoints', {source}), {breakpoints: []});
    const kWrong = '"line" must be a whole number';
    for (const [line, expected] of [[0, 1], [-1, 1], [null, 1], [99999, 12], [2 ** 31, kWrong], [1e300, kWrong],
                                    [1.5, kWrong], ['x', kWrong]]) {
      const {breakpoints} = await s.ask('setBreakpoints', {source: {path: program}, breakpoints: [{line}, line]});
      assert.equal(breakpoints.length, 2, `${line}`);
      assert.equal(breakpoints[0].verified ? breakpoints[0].line : breakpoints[0].message, expected, `${line}`);
    }
    assert.match(await s.refused('launch', {program}), /was launched/);
    await s.ask('configurationDone');
    assert.match(await s.refused('configurationDone'), /has started/);
    await s.leave();
  },

  async in_pieces(s) {
    await s.start();
    const body = Buffer.from(JSON.stringify({seq: 1, type: 'request', command: 'initialize', arguments: {adapterID: 'ü'}}));
    const message = Buffer.concat([Buffer.from(`X-Other: 1\r\nContent-Length: ${body.length}\r\n\r\n`), body]);
    for (const byte of message) {
      s.raw(Buffer.from([byte]));
      await new Promise(setImmediate);
    }
    for (const body of ['', '{', '[]', 'null', '7', '['.repeat(100000), '{"type":"request","seq":1e400}', '\xff',
                        '{"type":"event","seq":1}', '{"type":"request","seq":2,"command":7}']) {
      const bytes = Buffer.from(body, 'latin1');
      s.raw(`Content-Length: ${bytes.length}\r\n\r\n`);
      s.raw(bytes);
    }
    s.sequence = 50;
    assert.match(await s.refused('initialize'), /has been initialized/);
    await s.leave();
  },

  async server_killed(s) {
    await s.begin(kLoop, {keys: ['k'], breakpoints: [12]});
    await s.stopped('breakpoint');
    const killed = servers(s.folder);
    assert(killed.length > 0);
    for (const pid of killed) process.kill(Number(pid), 'SIGKILL');
    const answer = await s.send('next', {threadId: 1}).then(() => 'done', ({message}) => message);
    assert.match(answer, /^done$|server|connection/);
    await s.event('terminated');
    await s.ask('restart');
    assert.equal(await s.stopped('breakpoint'), 12);
    await s.leave();
  },

  async server_killed_while_running(s) {
    await s.begin(kEndless);
    const killed = servers(s.folder);
    assert(killed.length > 0);
    for (const pid of killed) process.kill(Number(pid), 'SIGKILL');
    await s.event('terminated');
    await s.leave();
  },

  async adapter_killed(s) {
    await s.begin(kLoop, {keys: ['k'], breakpoints: [9]});
    await s.stopped('breakpoint');
    s._adapterProcess.stdin.end();
    assert.equal(await s.ended, 0);
  },

  async vanishes(s) {
    await s.begin(kEndless);
    s._adapterProcess.stdin.end();
    assert.equal(await s.ended, 0);
  },

  async two_sessions(s) {
    for (const value of ['6', '10']) {
      const one = value === '6' ? s : new Session(s.folder);
      await one.begin(kLoop.replace('1, 3', value === '6' ? '1, 3' : '1, 4'), {keys: ['k'], breakpoints: [12]});
      await one.stopped('breakpoint');
      assert.equal(await one.value("redis.call('GET', key)"), `"${value}"`);
      await one.leave();
    }
  },

  async side_by_side(s) {
    const other = new Session(s.folder);
    await s.begin(kLoop, {keys: ['k'], breakpoints: [12]});
    await other.begin(kLoop, {keys: ['k'], breakpoints: [10], name: 'other.lua'});
    await Promise.all([s.stopped('breakpoint'), other.stopped('breakpoint')]);
    assert.equal(await s.value("redis.call('GET', key)"), '"6"');
    assert.equal(await other.value("redis.call('EXISTS', key)"), '0');
    await Promise.all([s.leave(), other.leave()]);
  },

  async hits(s) {
    await s.begin(kLoop.replace('1, 3', '1, 20'), {keys: ['k'], breakpoints: [{line: 9, hitCondition: '%7'}]});
    for (const i of ['7', '14']) {
      assert.equal(await (i === '7' ? s.stopped('breakpoint') : s.move('continue')), 9);
      assert.equal((await s.values('Locals')).i, i);
    }
    const [both, wrong] = await s.breakpoints([{line: 9, condition: 'i > 17', hitCondition: '2'}, {line: 10, hitCondition: 'x'}]);
    assert(both.verified && !wrong.verified, JSON.stringify([both, wrong]));
    assert.equal(await s.move('continue'), 9);
    assert.equal((await s.values('Locals')).i, '19');
    await s.leave();
  },

  async messages(s) {
    const [set, wrong] = await s.begin(kLoop, {keys: ['k'],
                                               breakpoints: [{line: 9, logMessage: 'i is {i}, of {key}'}, {line: 10, logMessage: '{i'}]});
    assert(set.verified && !wrong.verified, JSON.stringify([set, wrong]));
    assert.equal(await s.finished(), 0);
    assert.deepEqual(s.output.match(/i is \d+, of .*/g), ['i is 1, of k', 'i is 2, of k', 'i is 3, of k']);
    await s.leave();
  },

  async replays(s) {
    const replay = s.write('requests.log', '1795155070 ann\n1795155071 ann\n1795155072 ann\n');
    await s.begin("return redis.call('INCRBY', KEYS[1], ARGV[1])", {args: '{limit}', limit: '5/60s', replay, skip: 2});
    assert.equal(await s.finished(), 0);
    assert.match(s.output, /= 15/);
    await s.ask('restart');
    assert.equal(await s.finished(), 0);
    assert.equal(s.output.match(/= 15/g).length, 2);
    await s.leave();
  },

  async prepared(s) {
    await s.begin("return redis.call('HGET', KEYS[1], 'rate')", {keys: ['k'], setup: ['HSET {key} rate 7', 'PEXPIRE {key} 5000']});
    assert.equal(await s.finished(), 0);
    assert.match(s.output, /= "7"/);
    await s.leave();
  },

  async attaches(s) {
    const url = process.env.RLCTL_URL;
    await s.start();
    s.path = s.write('script.lua', kLoop);
    await s.initializeRequest();
    assert.match(await s.refused('attach', {program: s.path, keys: ['counted'], server: url, setup: 'SET {key} 1'}), /setup/);
    await s.ask('attach', {program: s.path, keys: ['counted'], server: url});
    await s.event('initialized');
    await s.breakpoints([12]);
    await s.ask('configurationDone');
    assert.equal(await s.stopped('breakpoint'), 12);
    assert.equal(await s.value("redis.call('GET', KEYS[1])"), '"47"');
    await s.leave();
    assert.equal(execFileSync('redis-cli', ['-s', url.replace('unix://', ''), 'GET', 'counted']).toString(), '41\n');
  },

  // The helpers of the client itself.
  async helpers(s) {
    await s.start();
    const program = s.write('script.lua', kLoop);
    await s.hitBreakpoint({program, keys: ['k']}, {path: program, line: 9});
    await Promise.all([s.nextRequest({threadId: 1}), s.assertStoppedLocation('step', {path: program, line: 10})]);
    await s.setBreakpointsRequest({source: {path: program}, breakpoints: []});
    await Promise.all([s.continueRequest({threadId: 1}), s.assertOutput('stdout', 'redis> INCRBY k 1')]);
    await s.event('terminated');
    await s.leave();
  },
};

async function run(name) {
  const folder = join(root, name);
  mkdirSync(join(folder, 'tmp'), {recursive: true});
  const session = new Session(folder);
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error('80 seconds')), 80_000)));
  try {
    await Promise.race([scenarios[name](session), late]);
    const left = readdirSync(join(folder, 'tmp')).filter((one) => one.startsWith('rlctl-'));
    assert.deepEqual([left, servers(folder)], [[], []], 'something is left');
    console.log(`ok ${name}`);
  } catch (error) {
    const where = error.stack.split('\n').filter((line) => line.includes('dap_scenarios')).map((line) => line.trim());
    console.log(`not ok ${name}: ${error.message.replaceAll('\n', ' ')} ${where.slice(0, 3).join(' ')}`);
    session._adapterProcess?.stdin.end();
  } finally {
    clearTimeout(timer);
  }
}

// A few at a time: most of a session's time is waiting.
const names = wanted.length > 0 ? wanted : Object.keys(scenarios);
await Promise.all(Array.from({length: 3}, async () => {
  for (let name; (name = names.shift());) await run(name);
}));
process.exit();
