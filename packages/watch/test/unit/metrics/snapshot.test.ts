import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ControlHandlers } from '@weir/server/app/control/control-handlers';
import { ControlSocket } from '@weir/server/app/control/control-socket';
import { ApiClient, parsePlace } from '@weir/client/api';
import { SnapshotTaker, type MetricSources } from '../../../src/metrics/snapshot.ts';
import { fullStatus } from '../../../../../test/support/metrics/full-status.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';
import { eventually } from '../../../../../test/support/wait.ts';

/** A control socket that answers `status` alone. */
const openSocket = (path: string, status: ControlHandlers['status']): Promise<ControlSocket> =>
  ControlSocket.open(path, {
    status,
    followsUsage: () => false,
  } as Partial<ControlHandlers> as ControlHandlers);

/** Sources of a Weir without an API. */
const sourcesAt = (socket: string): MetricSources => ({
  socket,
  api: new ApiClient(parsePlace(join(socket, 'no-api')), undefined),
  isApiNamed: false,
  users: false,
});

test('scrapes at the same time, and those that follow at once, ask Weir one time', async () => {
  await using folder = await scratch();
  const sources = sourcesAt(join(folder.path, 's'));
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  let requests = 0;
  const socket = await openSocket(sources.socket ?? '', async () => {
    requests++;
    asked.resolve();
    await answer.promise;
    return fullStatus;
  });
  const taker = new SnapshotTaker(sources, () => Promise.resolve(sources));
  const first = Array.from({ length: 50 }, () => taker.take());
  await asked.promise;
  const late = Array.from({ length: 50 }, () => taker.take());
  answer.resolve();
  const taken = new Set(await Promise.all([...first, ...late]));
  assert.deepEqual([taken.size, requests], [1, 1]);
  assert.equal([...taken][0]?.status?.flows_opened, fullStatus.flows_opened);
  await eventually('a later one, with figures of its own', async () => {
    const [next] = await Promise.all([taker.take(), taker.take()]);
    return !taken.has(next);
  });
  assert.equal(requests, 2);
  socket.close();
});

test('a Weir with another socket is found, and what fails to find one is no failure', async () => {
  await using folder = await scratch();
  const before = sourcesAt(join(folder.path, 'before'));
  const after = sourcesAt(join(folder.path, 'after'));
  let found = before;
  const taker = new SnapshotTaker(before, () => Promise.resolve(found));
  const without = await taker.take();
  assert.deepEqual([without.status, [...without.reached]], [undefined, [['socket', false]]]);
  assert.match(String(without.problem?.message), /ENOENT/);
  const socket = await openSocket(after.socket ?? '', () => Promise.resolve(fullStatus));
  found = after;
  const { status, reached } = await eventually('the other socket', async () => {
    const snapshot = await taker.take();
    return snapshot.status ? snapshot : undefined;
  });
  assert.equal(status?.pid, fullStatus.pid);
  assert.deepEqual(
    [...reached],
    [
      ['socket', true],
      ['api', false],
    ],
  );
  socket.close();
});
