import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pairProblem } from '@weir/server/loading';
import { readState } from '../../packages/nodes/src/subscribe/files/state-file.ts';
import { Child } from '../support/process/child.ts';
import { link, namesIn } from '../support/subscribe/nodes.ts';
import { testWorkspace } from '../support/subscribe/workspace.ts';
import { within } from '../support/wait.ts';

const UPDATER = join(import.meta.dirname, '../support/subscribe/killed-updater.ts');

/** Times that an updater is killed; each takes about half a second. */
const KILLS = Number(process.env['WEIR_SUBSCRIBE_KILLS'] ?? 1);

/** Milliseconds within which it is killed; an update takes about ten. */
const MOMENTS = 40;

const list = (from: number): string =>
  Array.from({ length: 40 }, (_, index) => link(`Node ${from + index}`)).join('\n');

/** Kills an updater at some moment of an update. */
async function killUpdater(config: string, lists: readonly string[]): Promise<void> {
  await using updater = new Child(process.execPath, [UPDATER, config, ...lists]);
  await updater.until('its first update', ({ stdout }) => stdout.includes('started') || undefined);
  await delay(randomInt(MOMENTS));
  updater.signal('SIGKILL');
  await within(updater.exited, 'the end of the updater');
}

test('a kill at any moment leaves the old nodes or the new ones, and the next update works', async () => {
  const home = 'http://home.example/';
  await using workspace = await testWorkspace();
  const lists = [list(0), list(10)] as const;
  const texts: string[] = [];
  workspace.answers.set(home, lists[0]);
  await workspace.add('home');
  for (const body of [...lists, ...lists]) {
    workspace.answers.set(home, body);
    await workspace.update();
    texts.push(await workspace.text('nodes.toml'));
  }
  for (let kill = 0; kill < KILLS; kill++) {
    await killUpdater(workspace.config, lists);
    assert.ok(texts.includes(await workspace.text('nodes.toml')), `kill ${kill}`);
    assert.ok(readState(await workspace.text('nodes.state.json')), `kill ${kill}`);
  }
  workspace.answers.set(home, lists[1]);
  assert.equal((await workspace.update())[0]?.kind, 'updated');
  assert.ok(texts.includes(await workspace.text('nodes.toml')));
});

test('a kill at any moment leaves a balancer whose members are there, and the next update works', async () => {
  const home = 'http://home.example/';
  await using workspace = await testWorkspace();
  const lists = [list(0), list(30)] as const;
  workspace.answers.set(home, lists[0]);
  await workspace.add('home');
  const head = `${await workspace.text('weir.toml')}# follows: home\n[[balancer]]\ntag = "Auto"\n`;
  await workspace.write('weir.toml', `${head}outbounds = ["Node 0"]\n`);
  for (let kill = 0; kill < KILLS; kill++) {
    await killUpdater(workspace.config, lists);
    const [config, nodes] = [await workspace.text('weir.toml'), await workspace.text('nodes.toml')];
    const files = [
      { path: workspace.config, text: config },
      { name: 'nodes.toml', text: nodes },
    ] as const;
    assert.equal(await pairProblem(...files), undefined, `kill ${kill}`);
  }
  for (const body of lists) {
    workspace.answers.set(home, body);
    await workspace.update({ force: true });
  }
  const [text, names] = [
    await workspace.text('weir.toml'),
    namesIn(await workspace.text('nodes.toml')).map((each) => each.split('@')[0] ?? ''),
  ];
  assert.equal(names.length, 40);
  for (const name of names) assert.ok(text.includes(JSON.stringify(name)), name);
});
