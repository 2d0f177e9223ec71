import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { ApiClientError, type ApiEvent } from '../../../src/client/api-client.ts';
import {
  listPeriod,
  MOST_OPEN,
  RETRY_MS,
  ROUTES_MS,
  STATUS_MS,
  TURN_MS,
} from '../../../src/monitor/limits.ts';
import type { RunningStatus } from '@weir/server/control';
import { RunningMonitor, type MonitorSources } from '../../../src/monitor/running-monitor.ts';
import { statusOf } from '../../../../../test/support/dashboard/context.ts';
import { fullStatus } from '../../../../../test/support/metrics/full-status.ts';
import { flowOf } from '../../../../../test/support/dashboard/fake-monitor.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { uncollected } from '../../../../../test/support/process/uncollected.ts';
import { settle } from '../../../../../test/support/settle.ts';

/** An API whose answers and events a test gives. */
class FakeApi {
  flows = [flowOf(1)];
  etag = '"one"';
  failure: ApiClientError | undefined;
  readonly asked: string[] = [];
  readonly #streams = new Map<string, (event: ApiEvent | undefined) => void>();

  async ask(_: string, path: string): Promise<unknown> {
    this.asked.push(path);
    if (this.failure) throw this.failure;
    if (path === '/v1/version') return { version: '2.1.1' };
    const body = { flows: this.flows.map(({ view }) => view), sessions: [] };
    this.lastList = new WeakRef(body);
    return body;
  }

  async askTagged(method: string, path: string) {
    this.asked.push(`${method} ${path}`);
    if (this.failure) throw this.failure;
    return { body: { default: { pick: null, target: null } }, etag: this.etag };
  }

  async *events(path: string, { signal }: { readonly signal?: AbortSignal } = {}) {
    if (this.failure) throw this.failure;
    for (;;) {
      const { promise, resolve } = Promise.withResolvers<ApiEvent | undefined>();
      this.#streams.set(path, resolve);
      signal?.addEventListener('abort', () => resolve(undefined));
      const event = await promise;
      if (!event) return;
      yield event;
    }
  }

  async send(path: string, event: string, data: unknown): Promise<void> {
    this.#streams.get(path)?.({ event, data });
    await settle(10);
  }

  get streams(): readonly string[] {
    return [...this.#streams.keys()];
  }

  /** The body of the last list. */
  lastList: WeakRef<object> | undefined;

  count(path: string): number {
    return this.asked.filter((each) => each === path).length;
  }
}

const held: Disposable[] = [];
afterEach(() => {
  for (const hold of held.splice(0)) hold[Symbol.dispose]();
});

function start(more: Partial<Pick<MonitorSources, 'findAgain' | 'status'>> = {}) {
  const clock = new ManualClock();
  const api = new FakeApi();
  const status = async () => undefined;
  const monitor = new RunningMonitor({ api, status, clock, ...more });
  const pass = async (milliseconds: number): Promise<void> => {
    clock.advance(milliseconds);
    await settle(10);
  };
  return { clock, api, monitor, pass };
}

const EVENTS = '/v1/connections/events';
const LIST = '/v1/connections';

test('nothing is requested until somebody holds the monitor, and nothing after that', async () => {
  const { api, monitor, clock, pass } = start();
  await settle(10);
  assert.deepEqual(api.asked, []);
  const hold = monitor.hold();
  await settle(10);
  assert.equal(monitor.api.kind, 'reached');
  assert.equal(monitor.socket.kind, 'absent');
  assert.deepEqual([...monitor.flows.keys()], [1]);
  hold[Symbol.dispose]();
  hold[Symbol.dispose](); // a hold ends once
  await settle(10);
  assert.equal(clock.timers, 0);
  const { length } = api.asked;
  await pass(60_000);
  assert.equal(api.asked.length, length);
  held.push(monitor.hold());
  await settle(10);
  assert.ok(api.asked.length > length);
});

test('flows follow the events, and listeners hear of it at most once in a turn', async () => {
  const { api, monitor, pass } = start();
  held.push(monitor.hold());
  let calls = 0;
  monitor.onChange(() => calls++);
  await settle(10);
  await pass(TURN_MS);
  calls = 0;
  await api.send(EVENTS, 'opened', flowOf(2).view);
  await api.send(EVENTS, 'opened', flowOf(3).view);
  await api.send(EVENTS, 'closed', flowOf(2, { down: 9 }).view);
  assert.equal(calls, 0);
  await pass(TURN_MS);
  assert.equal(calls, 1);
  assert.deepEqual([...monitor.flows.keys()], [1, 2, 3]);
  assert.equal(monitor.flows.get(2)?.view.down, 9);
});

test('missed events are counted, and the flows are listed again', async () => {
  const { api, monitor, pass } = start();
  api.flows = Array.from({ length: 10_000 }, (_, id) => flowOf(id));
  held.push(monitor.hold());
  await settle(10);
  assert.equal(api.count(LIST), 1);
  await pass(2_000);
  assert.equal(api.count(LIST), 1);
  await api.send(EVENTS, 'lagged', { missed: 12 });
  assert.equal(monitor.missed, 12);
  assert.equal(api.count(LIST), 2);
});

test('a list of flows is not kept while the next one is waited for', async () => {
  const { api, monitor } = start();
  held.push(monitor.hold());
  await settle(10);
  assert.ok(api.lastList);
  assert.deepEqual(await uncollected([api.lastList]), []);
});

test('routes are requested again when the tag changes or a new routing snapshot has routed a flow', async () => {
  const { api, monitor, pass } = start();
  held.push(monitor.hold());
  await settle(10);
  assert.equal(api.count('GET /v1/routes'), 1);
  await pass(ROUTES_MS);
  assert.equal(api.count('GET /v1/routes'), 1);
  api.etag = '"two"';
  await pass(ROUTES_MS);
  assert.equal(monitor.routes?.value.etag, '"two"');
  await api.send(EVENTS, 'opened', flowOf(2, { plane_epoch: 1 }).view);
  await api.send(EVENTS, 'opened', flowOf(3, { plane_epoch: 2 }).view);
  assert.equal(api.count('GET /v1/routes'), 3);
});

test('after a loss snapshots are counted from the start, as another process does', async () => {
  const { api, monitor, pass } = start();
  held.push(monitor.hold());
  await settle(10);
  await api.send(EVENTS, 'opened', flowOf(2, { plane_epoch: 9 }).view);
  api.failure = new ApiClientError('gone');
  await pass(1_000);
  await pass(1);
  assert.equal(monitor.api.kind, 'lost');
  api.failure = undefined;
  await pass(RETRY_MS.first);
  await api.send(EVENTS, 'opened', flowOf(3, { plane_epoch: 1 }).view);
  const before = api.count('GET /v1/routes');
  await api.send(EVENTS, 'opened', flowOf(4, { plane_epoch: 2 }).view);
  assert.equal(api.count('GET /v1/routes'), before + 1);
});

test('snapshots of another process are counted from the start, also if the old one responded last', async () => {
  let status = statusOf({ started_at: 1_000, plane_epoch: 9 });
  const { api, monitor, pass } = start({ status: async () => status });
  held.push(monitor.hold());
  await settle(10);
  status = statusOf({ started_at: 2_000, plane_epoch: 1 });
  await pass(STATUS_MS);
  const before = api.count('GET /v1/routes');
  await api.send(EVENTS, 'opened', flowOf(2, { plane_epoch: 2 }).view);
  assert.equal(api.count('GET /v1/routes'), before + 1);
});

test('the more flows, the longer the time between two lists, which are never a burden', () => {
  const COST_MS = 2 / 1_000;
  for (const flows of [0, 1_000, 2_000, 10_000, 50_000, 200_000]) {
    assert.ok((flows * COST_MS) / listPeriod(flows) <= 0.02, String(flows));
  }
  assert.deepEqual([0, 1_000, 10_000, 100_000].map(listPeriod), [1_000, 1_000, 5_000, 10_000]);
});

test('routes that the files do not give leave the last ones, with the error', async () => {
  const { api, monitor, pass } = start();
  held.push(monitor.hold());
  await settle(10);
  const askTagged = api.askTagged.bind(api);
  api.askTagged = () => Promise.reject(new ApiClientError('weir.toml: broken', { status: 422 }));
  await pass(ROUTES_MS);
  assert.equal(monitor.routes?.value.etag, '"one"');
  assert.equal(monitor.routesError?.message, 'weir.toml: broken');
  assert.equal(monitor.api.kind, 'reached');
  api.askTagged = askTagged;
  api.etag = '"two"';
  await pass(ROUTES_MS);
  assert.equal(monitor.routesError, undefined);
});

for (const [cause, error] of [
  [
    'refused',
    new ApiClientError('refused', {
      cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
    }),
  ],
  ['unauthorized', new ApiClientError('401', { status: 401 })],
  [
    'forbidden',
    new ApiClientError('no', { cause: Object.assign(new Error('x'), { code: 'EACCES' }) }),
  ],
  ['other-server', new ApiClientError('404', { status: 404 })],
  ['other-server', new ApiClientError('html', { cause: new SyntaxError('<') })],
  ['other', new ApiClientError('reset')],
] as const) {
  test(`an API that fails by ${error.message} is lost as ${cause}, and comes back`, async () => {
    let finds = 0;
    const { api, monitor, pass } = start({ findAgain: async () => void finds++ });
    api.failure = error;
    held.push(monitor.hold());
    await settle(10);
    assert.equal(monitor.api.kind === 'lost' && monitor.api.cause, cause);
    api.failure = undefined;
    await pass(RETRY_MS.first);
    assert.equal(monitor.api.kind, 'reached');
    assert.equal(finds, 1);
  });
}

test('after it was reached, an API that is gone has ended, and its flows stay as they were', async () => {
  const { api, monitor, pass } = start();
  held.push(monitor.hold());
  await settle(10);
  api.failure = new ApiClientError('gone', {
    cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
  });
  await pass(1_000);
  await pass(1);
  const lost = monitor.api;
  assert.equal(lost.kind === 'lost' && lost.cause, 'ended');
  assert.equal(monitor.flows.size, 1);
  for (let i = 0; i < 10; i++) await pass(RETRY_MS.most);
  assert.equal(
    monitor.api.kind === 'lost' && monitor.api.since,
    lost.kind === 'lost' && lost.since,
  );
});

test('an answer of another shape is that of another server', async () => {
  const { api, monitor } = start();
  api.ask = async () => ({ hello: 'clash' });
  held.push(monitor.hold());
  await settle(10);
  assert.equal(monitor.api.kind === 'lost' && monitor.api.cause, 'other-server');
});

test('an API that the status says is not there is absent, and not lost', async () => {
  const clock = new ManualClock();
  const api = new FakeApi();
  api.failure = new ApiClientError('refused');
  const asked = Promise.withResolvers<RunningStatus>();
  const monitor = new RunningMonitor({ api, status: () => asked.promise, clock });
  held.push(monitor.hold());
  await settle(10);
  assert.equal(monitor.api.kind, 'lost');
  asked.resolve({ ...fullStatus, api: null });
  await settle(10);
  assert.equal(monitor.api.kind, 'absent');
});

test('more flows than a Weir can have are not kept', async () => {
  const { api, monitor, pass } = start();
  api.flows = Array.from({ length: MOST_OPEN }, (_, at) => flowOf(at + 1));
  held.push(monitor.hold());
  await settle(10);
  await pass(TURN_MS);
  await api.send(EVENTS, 'opened', flowOf(MOST_OPEN + 1).view);
  assert.equal(monitor.flows.size, MOST_OPEN);
  assert.ok(monitor.api.kind === 'lost');
  assert.match(monitor.api.error.message, /more than 400000 open flows/);
});
