import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pinnedPackages } from '../../packaging/manifest.ts';
import { ROOT } from '../../packaging/root.ts';
import { ask } from './ask.ts';
import { lockedPackages } from './locked-packages.ts';
import { verdict } from './verdict.ts';

/**
 * `npm run advisories`: published security releases of Node that are newer than the pinned one, and advisories of every
 * package of the lock file. The exit status is 1 when something forbids a release. What cannot be asked is named; with
 * `--release` it forbids the release too, where the kept list that stands for it is old. `--brief` prints the last line alone.
 */
const { values } = parseArgs({
  options: {
    brief: { type: 'boolean', default: false },
    release: { type: 'boolean', default: false },
  },
});

const pins = pinnedPackages();
const libraries = lockedPackages(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
const { failures, notes, summary } = verdict(pins, libraries, await ask(pins), {
  release: values.release,
  today: Date.now(),
});
if (!values.brief) for (const line of notes) console.log(`note: ${line}`);
console.log(`advisories: ${summary}`);
process.exitCode = failures.length === 0 ? 0 : 1;
