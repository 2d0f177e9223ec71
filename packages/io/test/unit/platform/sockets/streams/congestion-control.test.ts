import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { nativeMemory } from '../../../../../src/platform/native-memory.ts';
import type { SystemCalls } from '../../../../../src/platform/sockets/bindings.ts';
import { TCP_CONGESTION, TCP_INFO } from '../../../../../src/platform/sockets/linux.ts';
import { OPTION_BYTES } from '../../../../../src/platform/sockets/socket-options.ts';
import { fitCongestionControl } from '../../../../../src/platform/sockets/streams/congestion-control.ts';

/** Returns the algorithm of a connection after a look at it. @param algorithm `undefined` for a kernel without the option */
function fitted(
  algorithm: string | undefined,
  rtt: number,
  { smoothed = rtt, infoBytes = 152 } = {},
): string | undefined {
  let current = algorithm;
  const option = nativeMemory(OPTION_BYTES, () => 0);
  const { bytes } = option;
  const getsockopt: SystemCalls['getsockopt'] = (_fd, _level, name, _at, lengthAt) => {
    if (name === TCP_INFO) {
      bytes.writeUInt32LE(smoothed, 68);
      bytes.writeUInt32LE(rtt, 148);
      bytes.writeUInt32LE(infoBytes, lengthAt);
      return 0;
    }
    assert.equal(name, TCP_CONGESTION);
    if (current === undefined) return -1;
    assert.equal(bytes.readUInt32LE(lengthAt), 16);
    bytes.fill(0, 0, 16).write(current, 'latin1');
    return 0;
  };
  const setsockopt: SystemCalls['setsockopt'] = (_fd, _level, name, _at, length) => {
    assert.equal(name, TCP_CONGESTION);
    current = bytes.toString('latin1', 0, length);
    return 0;
  };
  fitCongestionControl({ calls: { getsockopt, setsockopt } as unknown as SystemCalls, option }, 3);
  return current;
}

describe('the congestion control of a connection', () => {
  test('within the machine is Reno where it was BBR', () => {
    for (const name of ['bbr', 'bbr3', 'bbr_future_name']) {
      assert.equal(fitted(name, 3), 'reno');
      assert.equal(fitted(name, 49, { smoothed: 19_999 }), 'reno');
    }
  });

  test('of other algorithms is left alone', () => {
    for (const name of ['cubic', 'reno', 'dctcp', undefined]) assert.equal(fitted(name, 3), name);
  });

  test('of a far client whose handshake was answered by this machine is left alone', () => {
    assert.equal(fitted('bbr', 24, { smoothed: 20_000 }), 'bbr');
  });

  test('of a longer path, of an unknown one, and on a kernel that does not tell is left alone', () => {
    for (const rtt of [50, 80_000, 0xffff_ffff]) assert.equal(fitted('bbr', rtt), 'bbr');
    assert.equal(fitted('bbr', 3, { infoBytes: 104 }), 'bbr');
  });
});
