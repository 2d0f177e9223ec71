import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { once } from 'node:events';
import { FileModel } from '../../../../src/dashboard/reader/file-model.ts';
import { FileWork } from '../../../../src/dashboard/reader/file-work.ts';
import {
  subscriptionActions,
  SubscriptionsTopic,
} from '../../../../src/dashboard/nodes/subscriptions.ts';
import type { UpdateReport } from '../../../../src/dashboard/nodes/view.ts';
import { freedom, socksIn } from '../../../../../../test/support/process/config.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';
import { readerMonitor } from '../reader/support.ts';

const link = (name: string): string => `trojan://pw@${name.toLowerCase()}.provider.net:443#${name}`;

/** A provider whose list a test changes. */
async function provider(names: readonly string[]) {
  const state = { names, requests: 0 };
  const server = createServer((_request, response) => {
    state.requests++;
    response.setHeader(
      'subscription-userinfo',
      'upload=5; download=7; total=100; expire=1790000000',
    );
    response.end(state.names.map(link).join('\n'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  return {
    state,
    url: `http://127.0.0.1:${address.port}/sub?token=s3cret`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function opened(url: string) {
  const folder = await scratch();
  const path = join(folder.path, 'weir.toml');
  const nodes = join(folder.path, 'nodes.toml');
  const subscribe = `[subscribe]\npath = ${JSON.stringify(nodes)}\n`;
  await writeFile(path, `${socksIn()}${freedom()}${subscribe}`);
  await writeFile(nodes, '');
  const sources = join(folder.path, 'nodes.sources.toml');
  await writeFile(sources, `[[source]]\nname = "home"\nurl = "${url}"\n`, { mode: 0o600 });
  const monitor = readerMonitor();
  const context = { monitor, config: path, socket: undefined, env: { WEIR_SOCKET: undefined } };
  const file = new FileModel(context, new FileWork());
  await file.look();
  const topic = new SubscriptionsTopic(file);
  const [compare, update] = subscriptionActions(context, file, topic);
  const run = async (which: typeof compare): Promise<UpdateReport> =>
    (await which?.run({}, new AbortController().signal)) as UpdateReport;
  return { folder, path, nodes, topic, compare: () => run(compare), update: () => run(update) };
}

describe('subscriptions', () => {
  test('a comparison changes nothing, and the update applies what it has shown', async () => {
    await using from = await provider(['A', 'B', 'C']);
    const { folder, path, nodes, topic, compare, update } = await opened(from.url);
    await using _folder = folder;
    const shown = await compare();
    const [home] = shown.sources;
    assert.deepEqual([home?.id, home?.kind, home?.line], ['home', 'updated', '+3 =0']);
    assert.deepEqual(home?.added, { names: ['A', 'B', 'C'], more: 0 });
    assert.equal(await readFile(nodes, 'utf8'), '');
    assert.equal(shown.command, `weir subscribe update --config ${path}`);

    // The provider has another list now, which is not what was shown.
    from.state.names = ['A'];
    const done = await update();
    assert.deepEqual([done.sources[0]?.line, done.fetchedAgain], ['+3 =0', []]);
    assert.match(done.applied, /written; no running Weir serves this file/);
    assert.match(await readFile(nodes, 'utf8'), /name = "C"/);
    assert.equal(from.state.requests, 1);

    const { rows, busy } = topic.view();
    const [row] = rows;
    assert.deepEqual(
      [busy, row?.id, row?.nodes, row?.used, row?.total, row?.expires],
      [null, 'home', 3, 12, 100, 1_790_000_000_000],
    );
    assert.doesNotMatch(JSON.stringify([shown, done, rows]), /s3cret/);
  });

  test('an update without a comparison fetches, and says so', async () => {
    await using from = await provider(['A', 'B']);
    const { folder, update } = await opened(from.url);
    await using _folder = folder;
    const done = await update();
    assert.deepEqual([done.sources[0]?.line, done.fetchedAgain], ['+2 =0', ['home']]);
  });

  test('what is refused leaves the nodes, with the reason', async () => {
    await using from = await provider([]);
    const { folder, nodes, compare, update } = await opened(from.url);
    await using _folder = folder;
    assert.match((await compare()).sources[0]?.error?.message ?? '', /empty/);
    assert.equal((await update()).sources[0]?.kind, 'refused');
    assert.equal(await readFile(nodes, 'utf8'), '');
  });

  test('one at a time', async () => {
    await using from = await provider(['A']);
    const { folder, compare } = await opened(from.url);
    await using _folder = folder;
    const first = compare();
    await assert.rejects(compare(), /under way/);
    await first;
  });
});
