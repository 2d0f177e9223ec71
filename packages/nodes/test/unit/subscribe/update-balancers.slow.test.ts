import assert from 'node:assert/strict';
import { chmod, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { addSource } from '../../../src/subscribe/update/sources.ts';
import { Child } from '../../../../../test/support/process/child.ts';
import { link, namesIn } from '../../../../../test/support/subscribe/nodes.ts';
import {
  DIRECT,
  testWorkspace,
  type TestWorkspace,
} from '../../../../../test/support/subscribe/workspace.ts';
import { within } from '../../../../../test/support/wait.ts';
import { checkMerged } from '../../../src/subscribe/update/update-source.ts';

const USER_UPDATER = join(
  import.meta.dirname,
  '../../../../../test/support/subscribe/user-updater.ts',
);
const NOBODY = 65_534;

const HOME = 'http://home.example/';

/** A Clash file whose group `Auto` has all of its nodes but those in `apart`. */
function clash(nodes: readonly string[], apart: readonly string[] = []): string {
  const proxies = nodes.map(
    (name) =>
      `- {name: ${name}, type: trojan, server: ${name.toLowerCase()}.test, port: 443, password: pw}\n`,
  );
  const members = nodes.filter((name) => !apart.includes(name)).join(', ');
  return `proxies:\n${proxies.join('')}proxy-groups:\n- {name: Auto, type: url-test, proxies: [${members}]}\n`;
}

const auto = (members: readonly string[]): string =>
  `[[balancer]]\ntag = "Auto"\noutbounds = [${members.map((each) => `"${each}"`).join(', ')}]\n`;

const HEAD = `${DIRECT}[subscribe]\npath = "nodes.toml"\n[subscribe.routes]\ndefault = "Auto"\n`;
const PICKED = `${HEAD}\n# mine\n# follows: home; group: "Auto"\n`;

/** A workspace with a source `home` of the nodes A, B, C, which the balancer Auto follows. */
async function following(): Promise<TestWorkspace> {
  const workspace = await testWorkspace();
  workspace.answers.set(HOME, clash(['A', 'B', 'C']));
  await workspace.add('home');
  await workspace.write('weir.toml', PICKED + auto(['A', 'B', 'C']));
  return workspace;
}

const filesOf = async (workspace: TestWorkspace): Promise<readonly string[]> =>
  Promise.all(['weir.toml', 'nodes.toml'].map((name) => workspace.text(name)));

describe('an update of nodes that a balancer follows', () => {
  test('gives the balancer the new ones, removes the old ones, says so, and changes nothing the second time', async () => {
    await using workspace = await following();
    workspace.answers.set(HOME, clash(['D', 'E', 'F', 'G'], ['G']));
    const [dry] = await workspace.update({ force: true, dryRun: true });
    const [outcome] = await workspace.update({ force: true });
    const change = { tag: 'Auto', added: ['D', 'E', 'F'], removed: ['A', 'B', 'C'] };
    assert.deepEqual([dry?.balancers, outcome?.balancers], [[change], [change]]);
    assert.deepEqual(outcome?.difference, {
      added: ['D', 'E', 'F', 'G'],
      removed: ['A', 'B', 'C'],
      changed: [],
      kept: [],
      same: 0,
    });
    assert.equal(
      workspace.applied.at(-1),
      'subscribe update: home +4 −3 =0, balancer "Auto" +3 −3',
    );
    assert.equal(await workspace.text('weir.toml'), PICKED + auto(['D', 'E', 'F']));
    assert.deepEqual(namesIn(await workspace.text('nodes.toml')), [
      'D@d.test',
      'E@e.test',
      'F@f.test',
      'G@g.test',
    ]);
    const [files, times] = [await filesOf(workspace), workspace.applied.length];
    const [again] = await workspace.update();
    assert.deepEqual([again?.balancers, again?.notes], [[], []]);
    assert.deepEqual([await filesOf(workspace), workspace.applied.length], [files, times]);
  });

  test('is done by an answer that has everything once the balancer was edited', async () => {
    await using workspace = await following();
    const headers = new Map([['etag', '"1"']]);
    workspace.answers.set(HOME, { body: Buffer.from(clash(['A', 'B', 'C'])), headers });
    await workspace.update();
    await workspace.update();
    assert.deepEqual(workspace.requests.at(-1)?.headers, { 'If-None-Match': '"1"' });
    await workspace.write('weir.toml', PICKED + auto(['B']));
    await workspace.update();
    assert.deepEqual(workspace.requests.at(-1)?.headers, {});
    assert.equal(await workspace.text('weir.toml'), PICKED + auto(['A', 'B', 'C']));
  });

  test('puts both files back when the running Weir refuses them', async () => {
    await using workspace = await following();
    const before = await filesOf(workspace);
    workspace.answers.set(HOME, clash(['D', 'E']));
    workspace.refusal = 'the port is taken';
    const [outcome] = await workspace.update({ force: true });
    assert.deepEqual([outcome?.kind, outcome?.balancers], ['refused', []]);
    assert.deepEqual(await filesOf(workspace), before);
  });

  test('follows two sources, and keeps a node that something else names', async () => {
    await using workspace = await following();
    workspace.answers.set('http://work.example/', clash(['W', 'X']));
    await workspace.write(
      'weir.toml',
      PICKED.replace('follows: home; group: "Auto"', 'follows: *').replace(
        'default = "Auto"',
        'default = "A"',
      ) + auto(['A', 'B', 'C']),
    );
    const added = await workspace.add('work');
    assert.deepEqual(added.balancers, [{ tag: 'Auto', added: ['W', 'X'], removed: [] }]);
    workspace.answers.set(HOME, clash(['B', 'N']));
    workspace.answers.set('http://work.example/', clash(['X', 'Y']));
    const [home, work] = await workspace.update();
    assert.deepEqual([home?.difference.kept, home?.difference.removed], [['A'], ['C']]);
    assert.deepEqual(work?.balancers, [{ tag: 'Auto', added: ['Y'], removed: ['W'] }]);
    assert.ok((await workspace.text('weir.toml')).endsWith(auto(['B', 'N', 'X', 'Y'])));
  });

  test('is finished by the next one when it ended between two files, each time with valid files', async () => {
    await using workspace = await following();
    const [config, nodes] = await filesOf(workspace);
    const state = await workspace.text('nodes.state.json');
    workspace.answers.set(HOME, clash(['B', 'D']));
    const bytes = async (name: string): Promise<Uint8Array> =>
      readFile(join(dirname(workspace.config), name));
    await workspace.update();
    const [newConfig = '', newNodes = ''] = await filesOf(workspace);
    const united = `${nodes ?? ''}\n# source: home\n${/\[\[proxy_server\]\]\nname = "D"[^]*$/.exec(newNodes)?.[0] ?? ''}`;
    for (const [leftConfig, leftNodes] of [
      [config ?? '', united],
      [newConfig, united],
      [newConfig, newNodes],
    ]) {
      await workspace.write('weir.toml', leftConfig ?? '');
      await workspace.write('nodes.toml', leftNodes ?? '');
      await workspace.write('nodes.state.json', state);
      await checkMerged({
        config: workspace.config,
        configBytes: await bytes('weir.toml'),
        nodes: join(dirname(workspace.config), 'nodes.toml'),
        nodesBytes: await bytes('nodes.toml'),
      });
      const times = workspace.applied.length;
      await workspace.update();
      assert.equal(await workspace.text('weir.toml'), newConfig);
      assert.deepEqual(namesIn(await workspace.text('nodes.toml')), ['B@b.test', 'D@d.test']);
      assert.equal(workspace.applied.length, times + 1, 'the running Weir reads them');
    }
  });
});

describe('a balancer none of whose nodes is in the source any more', () => {
  test('is reported with each update until it is changed', async () => {
    await using workspace = await following();
    await workspace.write('weir.toml', HEAD + auto(['A', 'B']));
    workspace.answers.set(HOME, clash(['B', 'D']));
    assert.deepEqual((await workspace.update())[0]?.notes, []);
    workspace.answers.set(HOME, clash(['D', 'E']));
    for (const times of ['first', 'second']) {
      const [outcome] = await workspace.update();
      assert.match(
        outcome?.notes.join('\n') ?? '',
        /^none of the nodes of balancer "Auto" is in home any more: choose others, or write "# follows: home" above/,
        times,
      );
    }
    await workspace.write('weir.toml', `${HEAD}# follows: home\n${auto(['A', 'B'])}`);
    assert.deepEqual((await workspace.update())[0]?.notes, []);
    assert.equal(await workspace.text('weir.toml'), `${HEAD}# follows: home\n${auto(['D', 'E'])}`);
  });

  test('is reported where a pattern takes no node', async () => {
    await using workspace = await following();
    const config = `${HEAD}# follows: home; filter: "A|B"\n${auto(['A', 'B'])}`;
    await workspace.write('weir.toml', config);
    workspace.answers.set(HOME, clash(['C', 'D', 'E']));
    const [outcome] = await workspace.update();
    assert.match(
      outcome?.notes.join('\n') ?? '',
      /^none of the nodes of balancer "Auto" is in home any more, and none that is matches its line "follows"$/,
    );
    assert.deepEqual(outcome?.difference.kept, ['A', 'B']);
    assert.equal(await workspace.text('weir.toml'), config);
  });
});

test('nodes are updated, and it is said, where the configuration cannot be written', async () => {
  await using workspace = await testWorkspace();
  const folder = dirname(workspace.config);
  const [fixed, open] = [join(folder, 'fixed'), join(folder, 'open')];
  await mkdir(fixed);
  await mkdir(open);
  const config = join(fixed, 'weir.toml');
  const place = (text: string): string => text.replace('nodes.toml', join(open, 'nodes.toml'));
  await writeFile(config, place(HEAD).replace('"Auto"', '"out"'));
  workspace.answers.set(HOME, clash(['A', 'B']));
  const source = { name: 'home', url: HOME };
  await addSource({ config, source, dryRun: false, force: false }, workspace.tools);
  await writeFile(config, place(PICKED) + auto(['A']));
  await chmod(fixed, 0o555);
  if (process.geteuid?.() === 0) {
    const files = (await readdir(open)).map((name) => join(open, name));
    for (const path of [folder, fixed, config, open, ...files]) await chown(path, NOBODY, NOBODY);
  }
  const list = clash(['B', 'C']);
  const args = [USER_UPDATER, config, list, String(NOBODY)];
  await using updater = new Child(process.execPath, args);
  await within(updater.exited, 'the end of the updater');
  const [outcome] = JSON.parse(updater.stdout || updater.stderr) as Record<string, unknown>[];
  assert.deepEqual(outcome, {
    source: 'home',
    outcome: 'updated',
    added: ['C'],
    removed: [],
    changed: [],
    kept: ['A'],
    same: 1,
    left_out: [],
    information: [],
    balancers: [],
    insecure: [],
    notes: [
      `balancer "Auto" would change, but this user may not write to the folder of ${config}: run weir subscribe update as one who may`,
    ],
    error: null,
  });
  await chmod(fixed, 0o755);
  workspace.answers.set(HOME, list);
  const [next] = await workspace.update({ config });
  assert.deepEqual(workspace.requests.at(-1)?.headers, {});
  assert.deepEqual(next?.balancers, [{ tag: 'Auto', added: ['B', 'C'], removed: ['A'] }]);
  assert.deepEqual(next.notes, []);
});

test('a node that the user has renamed is a member by its new name', async () => {
  await using workspace = await following();
  await workspace.write(
    'nodes.toml',
    (await workspace.text('nodes.toml')).replace('name = "A"', 'name = "Mine"'),
  );
  await workspace.write('weir.toml', PICKED + auto(['Mine', 'B', 'C']));
  workspace.answers.set(HOME, clash(['A', 'B', 'D']));
  await workspace.update();
  assert.equal(await workspace.text('weir.toml'), PICKED + auto(['Mine', 'B', 'D']));
});

test('a list of links has no groups, so that nodes alone leave a balancer of a group', async () => {
  await using workspace = await following();
  workspace.answers.set(HOME, ['A', 'B', 'N'].map((name) => link(name)).join('\n'));
  const [outcome] = await workspace.update();
  assert.deepEqual(outcome?.balancers, [{ tag: 'Auto', added: [], removed: ['C'] }]);
});
