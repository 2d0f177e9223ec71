'use strict';

/*
 * After `npm ci`: makes `node_modules/.bin/node` a link to the Node that is pinned for this platform, so that npm's
 * scripts run on it. npm before 11 leaves no such link, since the packages of other platforms, which it does not install,
 * have a command of the same name. It is run by whichever Node runs npm, and so is written for old ones.
 *
 * Where the pinned Node cannot be run (a Linux without glibc), the link is removed: the scripts then run on the installed Node.
 */

const { spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');

const MODULES = path.join(__dirname, '../node_modules');
const LINK = path.join(MODULES, '.bin/node');

/** npm makes a link of another kind there, for which it does not need this. */
if (process.platform !== 'win32') linkNode();

function linkNode() {
  const binary = findNode();
  fs.rmSync(LINK, { force: true });
  if (binary === undefined) return say('no Node is pinned for this platform');
  const { error, status } = spawnSync(binary, ['--version']);
  if (status !== 0)
    return say('the pinned Node cannot be run here' + (error ? ': ' + error.message : ''));
  fs.mkdirSync(path.dirname(LINK), { recursive: true });
  fs.symlinkSync(path.relative(path.dirname(LINK), binary), LINK);
}

/** The binary of the one package with a Node that npm has installed. */
function findNode() {
  const { optionalDependencies } = require('../package.json');
  for (const name of Object.keys(optionalDependencies)) {
    const folder = path.join(MODULES, name);
    const manifest = path.join(folder, 'package.json');
    if (!fs.existsSync(manifest)) continue;
    const { bin } = JSON.parse(fs.readFileSync(manifest, 'utf8'));
    if (bin && bin.node) return path.join(folder, bin.node);
  }
  return undefined;
}

function say(why) {
  process.stderr.write(
    'weir: ' + why + '; npm scripts run on the installed Node, ' + process.version + '\n',
  );
}
