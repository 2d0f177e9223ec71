import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { FetchError } from '../../../src/fetch/contract.ts';
import { addSource, listSources, removeSource } from '../../../src/subscribe/update/sources.ts';
import { updateSources } from '../../../src/subscribe/update/update.ts';
import { link, namesIn } from '../../../../../test/support/subscribe/nodes.ts';
import {
  DIRECT,
  testWorkspace,
  type TestWorkspace,
} from '../../../../../test/support/subscribe/workspace.ts';

const HOME = 'http://home.example/';
const list = (...names: readonly string[]): string => names.map((name) => link(name)).join('\n');

/** A workspace with a source `home` of these nodes. */
async function withHome(names: readonly string[], config?: string): Promise<TestWorkspace> {
  const workspace = await testWorkspace(config);
  workspace.answers.set(HOME, list(...names));
  await workspace.add('home');
  return workspace;
}

/** All files of a workspace but its state. */
async function filesOf(workspace: TestWorkspace): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(dirname(workspace.config));
  const kept = names.filter((name) => name !== 'nodes.state.json').toSorted();
  return Object.fromEntries(
    await Promise.all(kept.map(async (name) => [name, await workspace.text(name)] as const)),
  );
}

describe('subscribe add', () => {
  test('adds nodes, the source and [subscribe], and keeps comments', async () => {
    await using workspace = await withHome(['A', 'B'], `# mine\n${DIRECT}# end\n`);
    assert.equal(
      await workspace.text('weir.toml'),
      `# mine\n${DIRECT}# end\n\n[subscribe]\npath = "nodes.toml"\n`,
    );
    assert.deepEqual(namesIn(await workspace.text('nodes.toml')), ['A@a', 'B@b']);
    assert.match(await workspace.text('nodes.sources.toml'), /^url = "http:\/\/home\.example\/"$/m);
    assert.deepEqual(workspace.applied, ['subscribe add: home +2 =0']);
    await assert.rejects(workspace.add('home'), /there is a source home already/);
  });

  test('changes nothing when the answer is refused, or the reload', async () => {
    await using workspace = await testWorkspace();
    const before = await filesOf(workspace);
    workspace.answers.set(HOME, '<html>');
    await assert.rejects(workspace.add('home'), /a web page/);
    assert.deepEqual(await filesOf(workspace), before);
    workspace.answers.set(HOME, list('A'));
    workspace.refusal = 'no';
    await assert.rejects(workspace.add('home'), /^WeirError: no$/);
    assert.equal(await workspace.text('weir.toml'), before['weir.toml']);
    assert.equal(await workspace.text('nodes.sources.toml'), '');
    await assert.rejects(workspace.add('../x'), /the name "\.\.\/x" is invalid/);
    await assert.rejects(workspace.add('x', 'file:///etc/passwd'), /neither http: nor https:/);
  });
});

describe('subscribe add and remove', () => {
  test('keep a byte order mark and CRLF in all files', async () => {
    const crlf = (text: string): string => `\u{feff}${text.replaceAll('\n', '\r\n')}`;
    await using workspace = await testWorkspace(crlf(DIRECT));
    const nodes = crlf('# mine\n');
    const sources = crlf('# sources\n');
    await workspace.write('nodes.toml', nodes);
    await workspace.write('nodes.sources.toml', sources);
    workspace.answers.set(HOME, list('A', 'B'));
    await workspace.add('home');
    const files = await filesOf(workspace);
    for (const text of Object.values(files)) {
      assert.ok(text.startsWith('\u{feff}') && !text.startsWith('\u{feff}', 1));
      assert.doesNotMatch(text, /(?<!\r)\n/);
    }
    await workspace.update();
    assert.equal(await workspace.text('nodes.toml'), files['nodes.toml']);
    workspace.answers.set(HOME, list('B', 'C'));
    await workspace.update();
    assert.doesNotMatch(await workspace.text('nodes.toml'), /(?<!\r)\n/);
    const request = { config: workspace.config, name: 'home', dryRun: false, force: true };
    await removeSource(request, workspace.tools);
    assert.equal(await workspace.text('nodes.toml'), nodes);
    assert.equal(await workspace.text('nodes.sources.toml'), sources);
  });

  test('refuse a file that another program changes during the fetch, and put the others back', async () => {
    for (const name of ['weir.toml', 'nodes.toml', 'nodes.sources.toml']) {
      await using workspace = await testWorkspace();
      workspace.answers.set(HOME, list('A'));
      const { openFetch } = workspace.tools;
      const added = addSource(
        {
          config: workspace.config,
          source: { name: 'home', url: HOME },
          dryRun: false,
          force: false,
        },
        {
          ...workspace.tools,
          openFetch: async (source) => {
            await workspace.write(name, '# edited\n');
            return openFetch(source);
          },
        },
      );
      await assert.rejects(added, /has been changed by another program meanwhile/);
      const rest = { 'nodes.sources.toml': '', 'nodes.toml': '', 'weir.toml': DIRECT };
      const found = await filesOf(workspace);
      for (const [file, text] of Object.entries({ ...rest, [name]: '# edited\n' })) {
        assert.equal(found[file] ?? '', text, file);
      }
      assert.deepEqual(workspace.applied, []);
    }
  });

  test('refuse sources that are not UTF-8, and show none of them', async () => {
    await using workspace = await withHome(['A']);
    const path = join(dirname(workspace.config), 'nodes.sources.toml');
    const bytes = Buffer.concat([await readFile(path), Buffer.from('# caf\xe9\n', 'latin1')]);
    await writeFile(path, bytes);
    await assert.rejects(workspace.add('work'), /nodes\.sources\.toml is not UTF-8$/);
    assert.deepEqual(await readFile(path), bytes);
  });
});

describe('subscribe update', () => {
  test('keeps others from changing the files until its own changes are applied', async () => {
    await using workspace = await withHome(['A']);
    workspace.answers.set(HOME, list('A', 'B'));
    const { tools } = workspace;
    let other: Promise<unknown> | undefined;
    await updateSources(
      { config: workspace.config, names: [], ifDue: false, dryRun: false, force: false },
      {
        ...tools,
        apply: async (what, write) => {
          other = workspace.update();
          await assert.rejects(other, /the subscriptions/);
          return tools.apply(what, write);
        },
      },
    );
    assert.ok(other);
    await workspace.update();
  });

  test('changes nodes, keeps picks, and asks with the validators of the last answer', async () => {
    await using workspace = await withHome(['A', 'B']);
    const headers = new Map([
      ['etag', '"1"'],
      ['last-modified', 'Thu, 01 Jan 2026 00:00:00 GMT'],
    ]);
    workspace.answers.set(HOME, { body: Buffer.from(list('B', 'C')), headers });
    const [outcome] = await workspace.update();
    assert.deepEqual(outcome?.difference, {
      added: ['C'],
      removed: ['A'],
      changed: [],
      kept: [],
      same: 1,
    });
    assert.deepEqual(workspace.applied.slice(1), ['subscribe update: home +1 −1 =1']);
    workspace.answers.set(HOME, { status: 304 });
    assert.equal((await workspace.update())[0]?.kind, 'unchanged');
    assert.deepEqual(workspace.requests.at(-1)?.headers, {
      'If-None-Match': '"1"',
      'If-Modified-Since': 'Thu, 01 Jan 2026 00:00:00 GMT',
    });
    assert.equal(workspace.applied.length, 2);
  });

  test('asks for everything when its nodes are not those that the validators are about', async () => {
    await using workspace = await withHome(['A', 'B']);
    workspace.answers.set(HOME, {
      body: Buffer.from(list('A', 'B')),
      headers: new Map([['etag', '"1"']]),
    });
    await workspace.update();
    const text = await workspace.text('nodes.toml');
    await workspace.write('nodes.toml', text.replace('pw-A', 'typo'));
    const [outcome] = await workspace.update();
    assert.deepEqual(workspace.requests.at(-1)?.headers, {});
    assert.deepEqual(outcome?.difference.changed, ['A']);
    assert.equal(await workspace.text('nodes.toml'), text);
  });

  test('takes the quota from an answer with the same nodes, and from one that is refused', async () => {
    await using workspace = await withHome(['A']);
    const used = async (): Promise<number | undefined> =>
      (await listSources(workspace.config))[0]?.userinfo?.download;
    const userinfo = (download: number) =>
      new Map([['subscription-userinfo', `download=${download}`]]);
    workspace.answers.set(HOME, { body: Buffer.from(list('A')), headers: userinfo(1) });
    await workspace.update();
    assert.equal(await used(), 1);
    workspace.answers.set(HOME, { body: Buffer.from('<html>'), headers: userinfo(2) });
    await workspace.update();
    assert.equal(await used(), 2);
    assert.equal(workspace.applied.length, 1);
  });

  for (const [what, answer, cause] of [
    [
      'no server',
      new FetchError('dial', 'home.example', 'connection refused'),
      /connection refused/,
    ],
    ['a status', { status: 403, body: Buffer.from(list('A')) }, /status 403/],
    ['a 304 that was not asked for', { status: 304 }, /status 304/],
    ['a web page', '<html><title>Log in</title>', /web page/],
    ['most nodes gone', list('A', 'B'), /only 2 of 5 nodes would be left/],
    ['an expired account', link('Expired', 'x'), /only messages/],
  ] as const) {
    test(`leaves everything as it is when there is ${what}, and tells the cause`, async () => {
      await using workspace = await withHome(['A', 'B', 'C', 'D', 'E']);
      workspace.answers.set('http://work.example/', list('W'));
      await workspace.add('work');
      const before = await filesOf(workspace);
      workspace.answers.set(HOME, answer);
      const [home, work] = await workspace.update();
      assert.equal(home?.kind, 'refused');
      assert.match(home?.error?.message ?? '', cause);
      assert.equal(work?.kind, 'updated');
      assert.deepEqual(await filesOf(workspace), before);
      assert.match((await listSources(workspace.config))[0]?.failure?.message ?? '', cause);
    });
  }

  test('--force takes over a list that lacks most nodes', async () => {
    await using workspace = await withHome(['A', 'B', 'C', 'D', 'E']);
    workspace.answers.set(HOME, list('A'));
    await workspace.update({ force: true });
    assert.deepEqual(namesIn(await workspace.text('nodes.toml')), ['A@a']);
  });

  test('keeps a node that a pick, a rule or a balancer names', async () => {
    const config = `${DIRECT}
[[balancer]]
tag = "b"
outbounds = ["B"]
[[route.rule]]
outbound = "C"
port = ["1"]
[subscribe]
path = "nodes.toml"
[subscribe.routes]
default = "A"
`;
    await using workspace = await withHome(['A', 'B', 'C', 'D', 'E', 'F'], config);
    workspace.answers.set(HOME, list('D', 'E', 'F'));
    const [outcome] = await workspace.update();
    assert.deepEqual(outcome?.difference.kept, ['A', 'B', 'C']);
    await workspace.write('weir.toml', config.replace('default = "A"', 'default = "D"'));
    const [later] = await workspace.update();
    assert.deepEqual(later?.difference.removed, ['A']);
    assert.deepEqual(later?.difference.kept, ['B', 'C']);
  });

  test('keeps the first node where that is the default route', async () => {
    await using workspace = await withHome(['A', 'B'], '[log]\n');
    workspace.answers.set(HOME, list('B', 'C'));
    assert.deepEqual((await workspace.update())[0]?.difference.kept, ['A']);
  });

  test('says that nodes are written when the running Weir is lost, and reloads with the next update', async () => {
    await using workspace = await withHome(['A', 'B']);
    workspace.answers.set(HOME, list('A', 'C'));
    workspace.isLost = true;
    const [outcome] = await workspace.update();
    assert.equal(outcome?.kind, 'updated');
    assert.deepEqual([outcome.difference.added, outcome.difference.removed], [['C'], ['B']]);
    assert.match(outcome.error?.message ?? '', /the rest is unknown/);
    assert.deepEqual(namesIn(await workspace.text('nodes.toml')), ['A@a', 'C@c']);
    assert.match(String((await listSources(workspace.config))[0]?.failure?.message), /unknown/);
    workspace.isLost = false;
    const times = workspace.applied.length;
    const [next] = await workspace.update({ ifDue: true });
    assert.deepEqual([next?.kind, workspace.applied.length], ['not_due', times + 1]);
    await workspace.update({ ifDue: true });
    assert.equal(workspace.applied.length, times + 1);
  });

  test('--dry-run and sources that are not due change nothing', async () => {
    await using workspace = await withHome(['A', 'B']);
    const before = {
      ...(await filesOf(workspace)),
      state: await workspace.text('nodes.state.json'),
    };
    workspace.answers.set(HOME, list('B', 'C'));
    const [outcome] = await workspace.update({ dryRun: true });
    assert.deepEqual(outcome?.difference.added, ['C']);
    workspace.now += 24 * 3600 * 1000 - 1;
    assert.equal((await workspace.update({ ifDue: true }))[0]?.kind, 'not_due');
    assert.deepEqual(
      { ...(await filesOf(workspace)), state: await workspace.text('nodes.state.json') },
      before,
    );
    workspace.now += 1;
    assert.equal((await workspace.update({ ifDue: true }))[0]?.kind, 'updated');
    workspace.now -= 1000;
    assert.equal((await workspace.update({ ifDue: true }))[0]?.kind, 'updated');
  });

  test('repairs what an update left that ended after any step', async () => {
    await using workspace = await withHome(['A', 'B']);
    const old = await workspace.text('nodes.state.json');
    workspace.answers.set(HOME, {
      body: Buffer.from(list('B', 'C')),
      headers: new Map([['etag', '"2"']]),
    });
    await workspace.update();
    const nodes = await workspace.text('nodes.toml');
    const state = await workspace.text('nodes.state.json');
    // Ended before the state was written; and the state is lost, or is none.
    for (const left of [old, '', '{']) {
      await workspace.write('nodes.state.json', left);
      const count = workspace.applied.length;
      assert.equal((await workspace.update())[0]?.kind, 'updated');
      assert.equal(workspace.applied.length, count + 1, 'the running Weir is told again');
      assert.equal(await workspace.text('nodes.toml'), nodes);
      assert.deepEqual(JSON.parse(await workspace.text('nodes.state.json')), JSON.parse(state));
    }
  });

  test('names an unknown source, and a subscribe file that is not TOML', async () => {
    await using workspace = await withHome(['A']);
    await assert.rejects(workspace.update({ names: ['x'] }), /no source "x" in /);
    await workspace.write('nodes.toml', '[[');
    await assert.rejects(workspace.update(), /nodes\.toml cannot be edited: TOML parse error/);
  });
});

describe('subscribe remove', () => {
  test('removes the nodes of the source and nothing else', async () => {
    await using workspace = await withHome(['A', 'B']);
    const before = await filesOf(workspace);
    workspace.answers.set('http://work.example/', list('A', 'W'));
    await workspace.add('work');
    const request = { config: workspace.config, name: 'work', dryRun: false, force: false };
    assert.deepEqual(await removeSource(request, workspace.tools), {
      removed: ['A (work)', 'W'],
      kept: [],
    });
    assert.deepEqual(await filesOf(workspace), before);
  });

  test('refuses while a node is in use, and keeps it as a node of no source with --force', async () => {
    const config = `${DIRECT}[subscribe]\npath = "nodes.toml"\nroutes = { default = "A" }\n`;
    await using workspace = await testWorkspace(config.replace('"A"', '"out"'));
    workspace.answers.set(HOME, list('A', 'B'));
    await workspace.add('home');
    await workspace.write('weir.toml', config);
    const request = { config: workspace.config, name: 'home', dryRun: false, force: false };
    await assert.rejects(removeSource(request, workspace.tools), /nodes of home are in use: "A"/);
    assert.deepEqual(await removeSource({ ...request, force: true }, workspace.tools), {
      removed: ['B'],
      kept: ['A'],
    });
    assert.doesNotMatch(await workspace.text('nodes.toml'), /# source: home/);
    assert.deepEqual(namesIn(await workspace.text('nodes.toml')), ['A@a']);
  });
});
