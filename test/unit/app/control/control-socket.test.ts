import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  requestDrain,
  requestProfile,
  requestStatus,
  requestUserFlows,
} from '../../../../src/app/control/control-client.ts';
import { ControlSocket, type ControlWords } from '../../../../src/app/control/control-socket.ts';
import { toDrainAction, toDrainStatus } from '../../../../src/app/control/drain-messages.ts';
import { scratch } from '../../../support/process/weir.ts';

test('a request that fails within the process is answered with the reason', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 's');
  const fails = () => Promise.reject(new TypeError('no such part'));
  const words = { profile: fails, status: fails, userFlows: fails, drain: fails };
  const socket = await ControlSocket.open(path, words as unknown as ControlWords);
  using _ = { [Symbol.dispose]: () => socket.close() };
  const reason = /: internal error: no such part$|^internal error: no such part$/;
  await assert.rejects(requestProfile(path, 0), reason);
  await assert.rejects(requestStatus(path), reason);
  await assert.rejects(requestDrain(path, 'show'), reason);
  const flows = { inbound: 'in', removed: true, close: false };
  await assert.rejects(requestUserFlows(path, flows), reason);
});

test('an invalid action or status of a drain is none', () => {
  assert.equal(toDrainAction('show'), 'show');
  for (const text of ['', 'Begin', 'begin now', '__proto__']) {
    assert.equal(toDrainAction(text), undefined);
  }
  const status = { kind: 'drain', since: 1, flows: 2, sessions: 3, handshakes: 4, device_flows: 5 };
  assert.deepEqual(toDrainStatus({ ...status, more: 1 }), status);
  assert.deepEqual(toDrainStatus({ ...status, since: null }), { ...status, since: null });
  for (const key of Object.keys(status)) {
    assert.equal(toDrainStatus({ ...status, [key]: 'x' }), undefined, key);
  }
  for (const other of [undefined, null, 1, 'drain', []]) {
    assert.equal(toDrainStatus(other), undefined);
  }
});
