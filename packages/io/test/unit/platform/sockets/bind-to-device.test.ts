import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toEndpoint } from '@weir/base/ip';
import { nativeMemory } from '../../../../src/platform/native-memory.ts';
import {
  ANY_DEVICE,
  NO_DEVICE,
  type SystemCalls,
} from '../../../../src/platform/sockets/bindings.ts';
import { ENETUNREACH, ENOBUFS, ENODEV } from '../../../../src/platform/sockets/linux.ts';
import { bindToDevice, OPTION_BYTES } from '../../../../src/platform/sockets/socket-options.ts';

/** Binds to a device. @param failure the error number of the kernel; 0 where it binds the socket */
function bound(device: number, failure: number, answersItself = false): number {
  const calls: Pick<SystemCalls, 'setsockopt' | 'errno'> = {
    setsockopt: () => (failure === 0 ? 0 : -1),
    errno: () => failure,
  };
  const io = {
    calls: calls as SystemCalls,
    option: nativeMemory(OPTION_BYTES, () => 0),
    devices: { deviceFor: () => device, answersItself: () => answersItself },
  };
  return bindToDevice(io, 3, toEndpoint('203.0.113.7', 7));
}

test('a socket that cannot be bound to its device has the error of the kernel', () => {
  assert.equal(bound(2, 0), 0);
  assert.equal(bound(2, ENOBUFS), ENOBUFS);
  assert.equal(bound(ANY_DEVICE, ENOBUFS), 0);
});

test('an address without a device, or of this process itself, is unreachable', () => {
  assert.equal(bound(NO_DEVICE, 0), ENETUNREACH);
  assert.equal(bound(2, ENODEV), ENETUNREACH);
  assert.equal(bound(2, 0, true), ENETUNREACH);
});
