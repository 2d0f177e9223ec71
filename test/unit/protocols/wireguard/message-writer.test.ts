import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { IpEndpoint } from '../../../../src/ip/ip-endpoint.ts';
import type { TunnelOutput, TunnelSettings } from '../../../../src/protocols/wireguard/contract.ts';
import { MessageWriter } from '../../../../src/protocols/wireguard/message-writer.ts';
import { TransportSession } from '../../../../src/protocols/wireguard/transport-session.ts';
import {
  DataOffset,
  datagramSize,
  paddedLength,
  TAG_SIZE,
} from '../../../../src/protocols/wireguard/wire.ts';
import { endpoint } from '../../../support/protocols/wireguard/tunnel-pair.ts';

const MTU = 1420;
const PEER = endpoint('192.0.2.1', 51_820);
const OTHER_BYTE = 0xa5;

/** Used memory with room for one datagram, or for none. */
class Output implements TunnelOutput {
  readonly buffer = new Uint8Array(2048).fill(OTHER_BYTE);
  readonly reserved: number[] = [];
  readonly committed: (readonly [length: number, destination: IpEndpoint])[] = [];
  readonly #at: number;

  constructor(at: number) {
    this.#at = at;
  }

  reserve(bytes: number): number {
    this.reserved.push(bytes);
    return this.#at;
  }

  commit(length: number, destination: IpEndpoint): void {
    this.committed.push([length, destination]);
  }

  /** The bytes from `start` on, and whether all around them are as they were. */
  written(start: number, size: number): Uint8Array {
    const around = [...this.buffer.subarray(0, start), ...this.buffer.subarray(start + size)];
    assert.ok(around.every((byte) => byte === OTHER_BYTE));
    return this.buffer.slice(start, start + size);
  }
}

const writerOf = (settings: Partial<TunnelSettings> = {}): MessageWriter =>
  new MessageWriter({ mtu: MTU, keepalive: 0, reserved: undefined, ...settings });

const session = (): TransportSession =>
  new TransportSession(
    { sending: new Uint8Array(32).fill(1), receiving: new Uint8Array(32).fill(1) },
    { index: 1, peerIndex: 0x04030201, isInitiator: true, createdAt: 0 },
  );

const packetOf = (size: number): Uint8Array => new Uint8Array(size).map((_, at) => at + 1);

describe('the padding of a packet', () => {
  test('is to a multiple of 16 bytes, and not beyond the MTU (whitepaper §5.4.6)', () => {
    for (const [length, mtu, padded] of [
      [0, MTU, 0],
      [1, MTU, 16],
      [16, MTU, 16],
      [17, MTU, 32],
      [1408, MTU, 1408],
      [1409, MTU, MTU],
      [MTU, MTU, MTU],
      // The MTU was lowered since.
      [1400, 1280, 1400],
    ] as const) {
      assert.equal(paddedLength(length, mtu), padded, String(length));
      // A header of 16 bytes and a tag of 16.
      assert.equal(datagramSize(length, mtu), padded + 32, String(length));
    }
  });
});

describe('a handshake message', () => {
  const message = Uint8Array.of(1, 0, 0, 0, 5, 6, 7, 8);

  test('is sent as it is, from the place that was reserved for it', () => {
    for (const at of [0, 100]) {
      const output = new Output(at);
      assert.equal(writerOf().write(message, PEER, output), true);
      assert.deepEqual(output.reserved, [8]);
      assert.deepEqual(output.written(at, 8), message);
      assert.deepEqual(output.committed, [[8, PEER]]);
    }
  });

  test('has the reserved bytes after its type', () => {
    const output = new Output(100);
    assert.equal(writerOf({ reserved: [9, 10, 11] }).write(message, PEER, output), true);
    assert.deepEqual(output.written(100, 8), Uint8Array.of(1, 9, 10, 11, 5, 6, 7, 8));
    assert.deepEqual(message.subarray(0, 4), Uint8Array.of(1, 0, 0, 0));
  });

  test('is not sent when there is no room', () => {
    const output = new Output(-1);
    assert.equal(writerOf({ reserved: [9, 10, 11] }).write(message, PEER, output), false);
    assert.deepEqual(output.committed, []);
    output.written(0, 0);
  });
});

describe('a packet', () => {
  test('is placed where its datagram, with padding and tag, has room', () => {
    for (const at of [0, 100]) {
      const output = new Output(at);
      assert.equal(writerOf().place(packetOf(20), output), at);
      assert.deepEqual(output.reserved, [64]);
      assert.deepEqual(output.written(at + 16, 20), packetOf(20));
    }
  });

  test('is not placed when there is no room', () => {
    const output = new Output(-1);
    assert.equal(writerOf().place(packetOf(20), output), -1);
    output.written(0, 0);
  });

  for (const [name, reserved, header] of [
    ['without reserved bytes', undefined, [4, 0, 0, 0]],
    ['with reserved bytes', [9, 10, 11] as const, [4, 9, 10, 11]],
  ] as const) {
    test(`is padded with zeros and sealed ${name}`, () => {
      for (const [length, padded] of [
        [20, 32],
        [32, 32],
        [1409, MTU],
        [0, 0],
      ] as const) {
        const at = 100;
        const writer = writerOf({ reserved });
        const output = new Output(at);
        writer.place(packetOf(length), output);
        using sealing = session();
        const size = writer.seal(sealing, output.buffer, at, length);
        assert.equal(size, padded + 32);
        const datagram = output.written(at, size);
        assert.deepEqual([...datagram.subarray(0, 8)], [...header, 1, 2, 3, 4]);
        using opening = session();
        assert.equal(opening.open(datagram, 0, size), undefined);
        const plain = new Uint8Array(padded);
        plain.set(packetOf(length));
        assert.deepEqual(datagram.subarray(DataOffset.packet, size - TAG_SIZE), plain);
      }
    });
  }
});

test('settings that change count from the next message on', () => {
  const writer = writerOf();
  writer.settings = { mtu: 1280, keepalive: 0, reserved: [1, 2, 3] };
  const output = new Output(0);
  writer.place(packetOf(1270), output);
  assert.deepEqual(output.reserved, [1280 + 32]);
});
