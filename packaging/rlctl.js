#!/usr/bin/env node
// Runs the binary of rlctl that npm has installed for this computer, and ends as it ends: with its status, or by its
// signal, so that a script which trusts the status never takes a killed rlctl for one that allowed.
'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const kUnavailable = 2; // rlctl's status for wrong usage, which no caller takes for "allowed" or "denied"

function fail(message) {
  console.error(`rlctl: ${message}`);
  process.exit(kUnavailable);
}

function findBinary() {
  const name = `rlctl-${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/bin/rlctl`);
  } catch {
    return fail(`the package ${name} is not installed\n` +
      '  hint: npm installs it unless optional packages are omitted; there are binaries for Linux on x64 and arm64');
  }
}

const child = spawn(process.env.RLCTL_BINARY || findBinary(), process.argv.slice(2), { stdio: 'inherit' });

// A terminal sends these to both; another program may send them to this process alone. rlctl takes two of a kind that
// come at once for one.
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
for (const signal of signals) process.on(signal, () => child.kill(signal));

child.on('error', (error) => fail(`${error.path} cannot be started: ${error.message}`));
child.on('exit', (status, signal) => {
  if (signal === null) process.exit(status);
  for (const each of signals) process.removeAllListeners(each);
  process.kill(process.pid, signal);
  // In the first process of a container, which no signal ends.
  setTimeout(() => process.exit(128 + constants.signals[signal]), 1000);
});
