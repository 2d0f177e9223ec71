import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { lockSubscriptions, subscribePaths } from '../../../src/subscribe/update/workspace.ts';
import {
  readSources,
  withoutSource,
  withSource,
} from '../../../src/subscribe/files/sources-file.ts';
import { readState, stateText } from '../../../src/subscribe/files/state-file.ts';
import { readStored, writeStored } from '../../../src/subscribe/files/stored-file.ts';
import { markerLine, parseMarker } from '../../../src/subscribe/nodes/node-file.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';
import { CODE_POINT } from '../../../../../test/support/data/code-point.ts';

const FULL = {
  name: 'home',
  url: 'https://provider.example/sub?token=s"3\\cret',
  outbound: 'Tokyo 1',
  userAgent: 'clash.meta',
  interval: 3600,
  maxSize: 65_536,
  timeout: 10,
};

test('the files of subscriptions are named after the subscribe file', () => {
  assert.deepEqual(subscribePaths('/etc/weir/nodes.toml'), {
    nodes: '/etc/weir/nodes.toml',
    sources: '/etc/weir/nodes.sources.toml',
    state: '/etc/weir/nodes.state.json',
    lock: '/etc/weir/nodes.lock',
  });
  assert.equal(subscribePaths('list').sources, 'list.sources.toml');
});

describe('a file of sources', () => {
  test('is read as it was written, and loses a source again', () => {
    const one = withSource('', FULL);
    const two = withSource(one, { name: 'work', url: 'http://10.0.0.1/' });
    const [home, work] = readSources(two, 'f');
    assert.deepEqual(home, FULL);
    assert.equal(work?.url, 'http://10.0.0.1/');
    assert.equal(withoutSource(two, 'work', 'f'), one);
  });

  test('keeps a comment above a source that goes, apart from the next', () => {
    const source = (name: string): string => `[[source]]\nname = "${name}"\nurl = "http://a/"\n`;
    const b = `# about b\n${source('b')}`;
    assert.equal(withoutSource(`# a\n${source('a')}${b}`, 'a', 'f'), `# a\n\n${b}`);
    assert.equal(withoutSource(`# all\n\n${source('a')}${b}`, 'a', 'f'), `# all\n\n${b}`);
    assert.equal(withoutSource(`# a\n${source('a')}\n${b}`, 'a', 'f'), `# a\n\n${b}`);
    assert.equal(withoutSource(`${source('x')}\n${source('a')}`, 'a', 'f'), source('x'));
  });

  for (const [what, text, message] of [
    [
      'an unknown key',
      '[[source]]\nname = "a"\nurl = "http://a/"\ntoken = 1\n',
      /line 4: unknown field/,
    ],
    [
      'a name twice',
      '[[source]]\nname = "a"\nurl = "http://a/"\n'.repeat(2),
      /line 4: duplicate name/,
    ],
    [
      'a name with spaces',
      '[[source]]\nname = "a b"\nurl = "http://a/"\n',
      /the name "a b" is invalid/,
    ],
    [
      'another scheme',
      '[[source]]\nname = "a"\nurl = "file:///secret"\n',
      /neither http: nor https:$/,
    ],
    ['a URL that is none', '[[source]]\nname = "a"\nurl = "secret"\n', /the URL is invalid$/],
    ['a URL that is a number', '[[source]]\nname = "a"\nurl = 5\n', /expected a string/],
    [
      'an interval of a second',
      '[[source]]\nname = "a"\nurl = "http://a/"\ninterval = 1\n',
      /interval is 1; it has to be 60 to/,
    ],
    ['no TOML', '[[source]\nurl = "https://secret"', /^f, line \d: /],
  ] as const) {
    test(`with ${what} is refused without showing a URL`, () => {
      assert.throws(
        () => readSources(text, 'f'),
        (error) => {
          assert.ok(error instanceof Error);
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /secret/);
          return true;
        },
      );
    });
  }
});

describe('the state', () => {
  const STATE = {
    reloaded: 'ab',
    sources: new Map([
      [
        'home',
        {
          url: 'cd',
          nodes: 'ef',
          etag: '"1"',
          lastModified: undefined,
          userinfo: { upload: 1, download: 2, total: undefined, expire: 3 },
          updateInterval: 3600,
          updated: 5,
          failure: { at: 6, message: 'm' },
        },
      ],
    ]),
  };

  test('is read as it was written', () => assert.deepEqual(readState(stateText(STATE)), STATE));

  test('is a state or nothing, whatever is in the file', () => {
    for (const text of ['', '[]', 'null', '{"version":2,"sources":{}}']) {
      assert.equal(readState(text), undefined);
    }
    fc.assert(
      fc.property(fc.json(), (json) => {
        const found = readState(`{"version":1,"sources":{"home":${json},"a b":${json}}}`);
        assert.ok(found && !found.sources.has('a b'));
        assert.deepEqual(readState(stateText(found)), found);
      }),
    );
  });
});

test('a marker is read as it was written, and nothing else is one', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: CODE_POINT }),
      fc.option(fc.constant('2026-01-01'), { nil: undefined }),
      (there, goneSince) => {
        const marker = { source: 'home', goneSince, there };
        const line = markerLine(marker);
        assert.deepEqual(parseMarker(line), {
          ...marker,
          there: there.toWellFormed() === there ? there : parseMarker(line)?.there,
        });
        assert.ok(!line.includes('\n'));
      },
    ),
  );
  for (const line of ['', '# source: ', '# source: a b', '# source: a; there: x', '#source: a']) {
    assert.equal(parseMarker(line), undefined);
  }
});

describe('the lock', () => {
  let umask = 0;
  before(() => void (umask = process.umask(0o077)));
  after(() => void process.umask(umask));

  test('is held by one, then by another, and leaves nothing', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'nodes.lock');
    {
      await using _held = await lockSubscriptions({ lock: path });
      assert.equal((await stat(path)).mode & 0o777, 0o644, 'services of other users see it');
      await assert.rejects(
        lockSubscriptions({ lock: path }),
        /^LockError: process \d+ is changing/,
      );
    }
    await using _held = await lockSubscriptions({ lock: path });
    assert.deepEqual(await readdir(folder.path), ['nodes.lock']);
  });

  test('of a process that has ended, or whose id another has now, counts for nothing', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'nodes.lock');
    const ended = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(ended, 'exit');
    for (const owner of [`${ended.pid} 1\n`, `${process.pid} 1\n`, '', 'x\n']) {
      await writeFile(path, owner);
      await using _held = await lockSubscriptions({ lock: path });
      assert.match(await readFile(path, 'utf8'), new RegExp(`^${process.pid} \\d+\\n$`));
    }
    assert.deepEqual(await readdir(folder.path), []);
  });

  test('that is a pipe is neither waited for nor removed', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'nodes.lock');
    execFileSync('mkfifo', [path]);
    await assert.rejects(lockSubscriptions({ lock: path }), /is a pipe, not a regular file/);
    assert.deepEqual(await readdir(folder.path), ['nodes.lock']);
  });

  test('goes to one of those that find a stale one', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'nodes.lock');
    await writeFile(path, '999999999 1\n');
    const results = await Promise.allSettled([
      lockSubscriptions({ lock: path }),
      lockSubscriptions({ lock: path }),
    ]);
    const held = results.filter((result) => result.status === 'fulfilled');
    for (const { value } of held) await value[Symbol.asyncDispose]();
    assert.equal(held.length, 1);
  });
});

test('a new file of secrets is for its owner alone, and others keep their mode', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'f');
  assert.equal(await readStored(path), undefined);
  await writeStored(path, Buffer.from('a'));
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  await writeStored(path, Buffer.from('b'));
  assert.equal(await readFile(path, 'utf8'), 'b');
  await writeStored(join(folder.path, 'g'), Buffer.from('a'), { like: path });
  assert.equal((await stat(join(folder.path, 'g'))).mode & 0o777, 0o600);
});
