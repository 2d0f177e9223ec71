import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { FileModel } from '../../../../src/dashboard/reader/file-model.ts';
import type { FileWorker } from '../../../../src/dashboard/reader/file-requests.ts';
import { FileWork } from '../../../../src/dashboard/reader/file-work.ts';
import { explainAction } from '../../../../src/dashboard/rules/explain-action.ts';
import { RulesTopic } from '../../../../src/dashboard/rules/rules-topic.ts';
import type { ExplainResult } from '../../../../src/dashboard/rules/view.ts';
import type { JsonValue } from '../../../../src/dashboard/shared/protocol.ts';
import { freedom, rule, socksIn } from '../../../../../../test/support/process/config.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';
import { readerMonitor } from '../reader/support.ts';

async function opened(rules: readonly string[], state: 'same' | 'changed' = 'same') {
  const folder = await scratch();
  const path = join(folder.path, 'weir.toml');
  await writeFile(path, [socksIn('desk'), freedom(), freedom('other'), ...rules].join('\n'));
  const monitor = readerMonitor();
  monitor.setStatus({ config: path, routes: { rules_since: 1, groups: [] } });
  const context = { monitor, config: path, socket: '/s', now: () => 1000 };
  const thread = { work: new FileWork() };
  const worker: FileWorker = { ask: (...asked) => thread.work.ask(...asked) };
  const file = new FileModel(context, worker, undefined, () =>
    Promise.resolve({ files: [{ path, state }], more: 0 }),
  );
  await file.look();
  return { folder, path, monitor, file, thread, topic: new RulesTopic(context, file) };
}

const SOME = [
  rule('other', 'domain_suffix = ["example.com"]'),
  rule('direct', 'domain_suffix = ["www.example.com"]'),
];

/** The view after what it has asked for has arrived. */
async function viewed(topic: RulesTopic, parameters: JsonValue) {
  const { promise, resolve } = Promise.withResolvers<void>();
  using _listener = topic.onChange(resolve);
  if (topic.view(parameters).pending) await promise;
  return topic.view(parameters);
}

describe('the topic rules', () => {
  test('a window has at most 60 of 2,000 rules, found by a search', async () => {
    const many = Array.from({ length: 2_000 }, (_, index) =>
      rule('direct', `domain_suffix = ["host-${index}.example"]`),
    );
    const { topic, folder } = await opened(many);
    await using _folder = folder;
    const view = await viewed(topic, { search: '', first: 1_000, count: 60 });
    assert.deepEqual([view.total, view.matching, view.first], [2_000, 2_000, 1_000]);
    assert.deepEqual([view.rows.length, view.rows[0]?.id], [60, 1_000]);
    const found = await viewed(topic, { search: 'host-1999', first: 0, count: 60 });
    assert.deepEqual([found.matching, found.rows.map(({ id }) => id)], [1, [1_999]]);
    assert.throws(() => topic.view({ count: 61 }), /"count"/);
    assert.throws(() => topic.view({ search: 1 }), /"search"/);
  });

  test('rows of a thread that has ended are not taken for those of the next one', async () => {
    const { topic, folder, path, file, thread } = await opened(SOME);
    await using _folder = folder;
    const parameters = { search: '', first: 0, count: 60 };
    assert.equal((await viewed(topic, parameters)).rows[0]?.target.tag, 'other');
    // An idle thread ends; its file is edited, and the next thread begins to count versions.
    thread.work = new FileWork();
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replaceAll('outbound = "other"', 'outbound = "direct"'));
    await file.look();
    assert.equal((await viewed(topic, parameters)).rows[0]?.target.tag, 'direct');
  });

  test('the rows before stay until the next ones are there', async () => {
    const { topic, folder } = await opened(SOME);
    await using _folder = folder;
    await viewed(topic, { search: '' });
    const pending = topic.view({ search: 'www' });
    assert.deepEqual([pending.pending, pending.rows.length], [true, 2]);
    assert.equal((await viewed(topic, { search: 'www' })).rows.length, 1);
  });

  test('hits and warnings of rules', async () => {
    const { topic, monitor, folder } = await opened(SOME);
    await using _folder = folder;
    using _held = topic.hold();
    monitor.addFlow(1, { rule: 0, outbound: 'other' });
    monitor.addFlow(2);
    monitor.changed();
    const { rows, fallback, dead } = await viewed(topic, {});
    assert.deepEqual([rows[0]?.open, rows[0]?.taken, rows[1]?.open], [1, 1, 0]);
    assert.deepEqual([fallback?.target.tag, fallback?.open], ['direct', 1]);
    assert.match(rows[1]?.warning ?? '', /never matches/);
    assert.equal(dead, 1);
    assert.equal((await viewed(topic, { dead: true })).rows.length, 1);
  });
});

const NEVER = new AbortController().signal;

describe('the action explain', () => {
  const run = async (
    { monitor, file }: Awaited<ReturnType<typeof opened>>,
    parameters: JsonValue,
  ): Promise<ExplainResult> =>
    (await explainAction({ monitor }, file).run(parameters, NEVER)) as ExplainResult;

  test('answers for a flow that is written, with the command', async () => {
    const all = await opened(SOME);
    await using _folder = all.folder;
    const found = await run(all, { to: 'a.example.com:80', from: '10.1.2.3', network: 'udp' });
    assert.deepEqual([found.rule, found.target.tag, found.actual], [0, 'other', null]);
    assert.equal(
      found.command,
      `weir explain a.example.com:80 --from 10.1.2.3 --network udp --config ${all.path}`,
    );
  });

  test('answers for a flow of the running Weir', async () => {
    const all = await opened(SOME);
    await using _folder = all.folder;
    all.monitor.addFlow(3, { host: 'www.example.com', rule: 0, outbound: 'other' });
    const found = await run(all, { flow: 3 });
    assert.deepEqual(found.actual, { outbound: 'other', rule: 0, difference: null });
    await assert.rejects(run(all, { flow: 4 }), /no longer listed/);
    all.monitor.addFlow(5, { network: 'unknown' });
    await assert.rejects(run(all, { flow: 5 }), /no rule decides/);
  });

  for (const [what, flow, state, reason] of [
    ['the files have changed', {}, 'changed', /files differ/],
    ['the rules have changed', { plane_epoch: 0 }, 'same', /before these rules/],
    ['the target was switched', { rule: 0, outbound: 'third' }, 'same', /was switched/],
    ['a name was read later', {}, 'same', /first bytes/],
  ] as const) {
    test(`says that ${what} since a flow was routed`, async () => {
      const all = await opened(SOME, state);
      await using _folder = all.folder;
      all.monitor.addFlow(3, { host: 'www.example.com', ...flow });
      assert.match((await run(all, { flow: 3 })).actual?.difference ?? '', reason);
    });
  }

  test('a flow that is invalid', async () => {
    const all = await opened(SOME);
    await using _folder = all.folder;
    await assert.rejects(run(all, { to: 'example.com' }), /HOST:PORT/);
    await assert.rejects(run(all, {}), /"to"/);
  });
});
