import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiClientError } from '@weir/client/api';
import { createCloseActions } from '../../../../src/dashboard/connections/close-flows.ts';
import type { JsonValue } from '../../../../src/dashboard/shared/protocol.ts';
import { contextOf, FakeApi } from '../../../../../../test/support/dashboard/context.ts';
import { fakeMonitor, flowOf } from '../../../../../../test/support/dashboard/fake-monitor.ts';

const FLOWS = [
  flowOf(1, { user: 'Ann', outbound: 'tokyo', inbound: 'socks', session: 4 }),
  flowOf(2, { user: 'ben', outbound: 'tokyo', inbound: 'socks', host: 'a.video' }),
  flowOf(3, { user: null, outbound: 'TOKYO', inbound: 'tun' }),
  flowOf(4, { user: 'Ann', outbound: 'osaka', inbound: 'tun' }, { closedAt: 1 }),
];

function closer(answer: (request: string) => Promise<unknown> = async () => ({ closed: 9 })) {
  const monitor = fakeMonitor();
  monitor.list(0, FLOWS);
  const api = new FakeApi(answer);
  const actions = createCloseActions(contextOf({ monitor, api }));
  const run = async (name: string, parameters: JsonValue) => {
    const action = actions.find((each) => each.name === name);
    assert.ok(action);
    return action.run(parameters, AbortSignal.timeout(10_000));
  };
  return { api, run };
}

test('a filter that the API can express is one request', async () => {
  for (const [filter, request, command, flows] of [
    ['user:ann', '?user=Ann', '--user Ann', 1],
    ['session:4', '?session=4', '--session 4', 1],
    ['in:socks out:tokyo', '?inbound=socks&outbound=tokyo', '--inbound socks --outbound tokyo', 2],
    ['in:socks closed:no', '?inbound=socks', '--inbound socks', 2],
    ['', '', '--all', 3],
  ] as const) {
    const { api, run } = closer();
    assert.deepEqual(await run('closing', { filter }), {
      flows,
      command: `weir ctl close ${command}`,
      isSelector: true,
    });
    assert.deepEqual(api.requests, [], 'nothing is closed by the question');
    assert.deepEqual(await run('close', { filter }), { closed: 9 });
    assert.deepEqual(api.requests, [`DELETE /v1/connections${request}`]);
  }
});

test('every other filter closes the flows by their ids', async () => {
  for (const [filter, ids] of [
    ['host:*.video', [2]],
    // The API tells cases apart, and there are two.
    ['out:tokyo', [1, 2, 3]],
    ['user:""', [3]],
    ['-user:ben', [1, 3]],
    ['closed:yes', []],
  ] as const) {
    const { api, run } = closer();
    assert.deepEqual(await run('closing', { filter }), {
      flows: ids.length,
      command: ids.length === 0 ? null : `weir ctl close ${ids.join(' ')}`,
      isSelector: false,
    });
    assert.deepEqual(await run('close', { filter }), { closed: ids.length });
    assert.deepEqual(
      api.requests,
      ids.map((id) => `DELETE /v1/connections/${id}`),
    );
  }
});

test('a flow that has ended meanwhile is not counted, and another failure is reported', async () => {
  const gone = closer(() => Promise.reject(new ApiClientError('no live flow 1', { status: 404 })));
  assert.deepEqual(await gone.run('close', { id: 1 }), { closed: 0 });
  const failing = closer(() => Promise.reject(new ApiClientError('no', { status: 500 })));
  await assert.rejects(failing.run('close', { filter: 'host:*' }), { message: 'no' });
});

test('an invalid filter closes nothing', async () => {
  const { api, run } = closer();
  for (const parameters of [{}, { filter: 'foo:1' }, { id: -1 }, { id: 'x' }]) {
    await assert.rejects(run('close', parameters), { code: 'bad-request' });
  }
  assert.deepEqual(api.requests, []);
});
