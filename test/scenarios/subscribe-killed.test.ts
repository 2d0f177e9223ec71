import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { readState } from '../../src/subscribe/files/state-file.ts';
import { Child } from '../support/process/child.ts';
import { link } from '../support/subscribe/nodes.ts';
import { testWorkspace } from '../support/subscribe/workspace.ts';
import { within } from '../support/wait.ts';

const UPDATER = join(import.meta.dirname, '../support/subscribe/killed-updater.ts');

/** Times that an updater is killed; each takes about half a second. */
const KILLS = Number(process.env['WEIR_SUBSCRIBE_KILLS'] ?? 1);

/** Milliseconds within which it is killed; an update takes about ten. */
const MOMENTS = 40;

const list = (from: number): string =>
  Array.from({ length: 40 }, (_, index) => link(`Node ${from + index}`)).join('\n');

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
    await using updater = new Child(process.execPath, [UPDATER, workspace.config, ...lists]);
    await updater.until(
      'its first update',
      ({ stdout }) => stdout.includes('started') || undefined,
    );
    await delay(randomInt(MOMENTS));
    updater.signal('SIGKILL');
    await within(updater.exited, 'the end of the updater');
    assert.ok(texts.includes(await workspace.text('nodes.toml')), `kill ${kill}`);
    assert.ok(readState(await workspace.text('nodes.state.json')), `kill ${kill}`);
  }
  workspace.answers.set(home, lists[1]);
  assert.equal((await workspace.update())[0]?.kind, 'updated');
  assert.ok(texts.includes(await workspace.text('nodes.toml')));
});
