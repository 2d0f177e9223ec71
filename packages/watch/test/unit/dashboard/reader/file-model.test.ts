import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FileModel } from '../../../../src/dashboard/reader/file-model.ts';
import type {
  ConfigFacts,
  FileRequestName,
  FileResult,
  FileWorker,
} from '../../../../src/dashboard/reader/file-requests.ts';
import { WeirError } from '@weir/base';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { readerMonitor } from './support.ts';

const FACTS: ConfigFacts = {
  version: '1',
  readAt: 5,
  nodes: [],
  moreNodes: 0,
  balancers: [],
  inbounds: [],
  rules: 0,
  hasSubscriptions: false,
};

class FakeWork implements FileWorker {
  asked = 0;
  outcome: ConfigFacts | Error = FACTS;

  async ask<K extends FileRequestName>(): Promise<FileResult<K>> {
    this.asked++;
    if (this.outcome instanceof Error) throw this.outcome;
    return this.outcome;
  }
}

function modelOf(config: string | undefined) {
  const monitor = readerMonitor();
  const worker = new FakeWork();
  const clock = new ManualClock();
  const compared = { state: 'same' as 'same' | 'changed', count: 0 };
  const model = new FileModel({ monitor, config, socket: '/s' }, worker, clock, () => {
    compared.count++;
    return Promise.resolve({ files: [{ path: '/x', state: compared.state }], more: 0 });
  });
  return { monitor, worker, clock, compared, model };
}

const FAILED = { at: 9, outcome: { kind: 'failed', line: 'no' }, place: null } as const;

describe('what is known of the file', () => {
  test('is unknown without a name, and that of the running Weir before the one that was named', () => {
    const { model, monitor } = modelOf(undefined);
    assert.equal(model.path, undefined);
    assert.equal(model.state.kind, 'unknown');
    monitor.socket = { kind: 'connecting' };
    assert.equal(model.state.kind, 'reading');
    assert.throws(() => model.ofFile, /not known/);
    monitor.setStatus({ config: null, pid: 7 });
    assert.deepEqual(model.ofFile, { path: null, pid: 7 });
    const named = modelOf('/etc/weir.toml');
    named.monitor.setStatus({ config: '/other.toml' });
    assert.equal(named.model.path, '/other.toml');
  });

  test('says whether Weir has loaded it', async () => {
    const { model, monitor, compared, worker } = modelOf('/etc/weir.toml');
    await model.look();
    assert.deepEqual(model.state, {
      kind: 'read',
      file: '/etc/weir.toml',
      freshness: 'loaded',
      readAt: 5,
    });
    compared.state = 'changed';
    worker.outcome = { ...FACTS, version: '2' };
    await model.look();
    assert.equal(model.state.kind === 'read' && model.state.freshness, 'changed');
    monitor.setStatus({ config: '/etc/weir.toml', last_reload: FAILED });
    await model.look();
    assert.equal(model.state.kind === 'read' && model.state.freshness, 'refused');
  });

  test('Weir compares its files only when they or what it runs may have changed', async () => {
    const { model, monitor, compared } = modelOf('/etc/weir.toml');
    monitor.setStatus({});
    await model.look();
    await model.look();
    assert.equal(compared.count, 1);
    monitor.setStatus({ plane_epoch: 2 });
    await model.look();
    assert.equal(compared.count, 2);
  });

  test('an invalid file has its error, and no facts', async () => {
    const { model, worker } = modelOf('/etc/weir.toml');
    await model.look();
    worker.outcome = new WeirError('invalid', 'unknown key \u{1b}[31m', { hint: 'remove it' });
    await model.look();
    assert.deepEqual(model.state, {
      kind: 'invalid',
      file: '/etc/weir.toml',
      message: String.raw`unknown key \u{1b}[31m`,
      hints: ['remove it'],
    });
    assert.equal(model.facts, undefined);
  });

  test('is looked at only while a page is open', async () => {
    const { model, monitor, worker, clock } = modelOf('/etc/weir.toml');
    const held = model.hold();
    const other = model.hold();
    await model.look();
    const { asked } = worker;
    clock.advance(5_000);
    await model.look();
    assert.ok(worker.asked > asked);
    held[Symbol.dispose]();
    held[Symbol.dispose]();
    monitor.setStatus({ plane_epoch: 3 });
    monitor.changed();
    await model.look();
    other[Symbol.dispose]();
    assert.equal(clock.timers, 0);
  });

  test('listeners hear of changes alone', async () => {
    const { model, worker } = modelOf('/etc/weir.toml');
    let heard = 0;
    using _listener = model.onChange(() => void heard++);
    await model.look();
    await model.look();
    assert.equal(heard, 1);
    worker.outcome = { ...FACTS, version: '2' };
    await model.look();
    assert.equal(heard, 2);
  });
});
