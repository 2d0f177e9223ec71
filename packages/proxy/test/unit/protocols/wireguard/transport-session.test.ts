import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { test } from 'node:test';
import { packetCiphers } from '@weir/crypto/aead/packet-ciphers';
import {
  TransportSession,
  type MessageLimits,
} from '../../../../src/protocols/wireguard/transport-session.ts';
import { DataOffset, TAG_SIZE } from '../../../../src/protocols/wireguard/wire.ts';

const KEY = Buffer.alloc(32, 0x11);
const PACKET = Buffer.from('a packet of thirty-two bytes, so');

/** A session whose peer has the same key in both directions. */
const sessionOf = (limits?: MessageLimits): TransportSession =>
  new TransportSession(
    { sending: Uint8Array.from(KEY), receiving: Uint8Array.from(KEY) },
    { index: 1, peerIndex: 2, isInitiator: true, createdAt: 0 },
    limits,
  );

/** The packet of a data message as the whitepaper says it (§5.4.6), by another implementation. */
function sealed(counter: number | bigint): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64LE(BigInt(counter), 4);
  const cipher = createCipheriv('chacha20-poly1305', KEY, nonce, { authTagLength: TAG_SIZE });
  return Buffer.concat([cipher.update(PACKET), cipher.final(), cipher.getAuthTag()]);
}

/** Ciphers of one implementation may share their nonce: this is another user of it. */
function useNonce(): void {
  using other = packetCiphers().sealing('chacha20-poly1305', KEY);
  other.nonce.fill(0xff);
}

test('a message is sealed under its counter, whatever another cipher has left in the nonce', () => {
  using session = sessionOf();
  for (const counter of [0, 1, 2]) {
    useNonce();
    const message = Buffer.alloc(DataOffset.packet + PACKET.length + TAG_SIZE);
    PACKET.copy(message, DataOffset.packet);
    assert.equal(session.seal(message, 0, PACKET.length), message.length);
    assert.deepEqual(message.subarray(DataOffset.packet), sealed(counter));
  }
});

test('a message is opened under its counter, whatever another cipher has left in the nonce', () => {
  using session = sessionOf();
  for (const counter of [0, 7, 3]) {
    useNonce();
    const message = Buffer.concat([Buffer.alloc(DataOffset.packet), sealed(counter)]);
    message.writeBigUInt64LE(BigInt(counter), DataOffset.counter);
    assert.equal(session.open(message, 0, message.length), undefined);
    assert.deepEqual(message.subarray(DataOffset.packet, -TAG_SIZE), PACKET);
  }
});

test('a session is worn after a number of messages, and spent after another', () => {
  const limits = { rekeyAfter: 2, rejectAfter: 4 };
  using session = sessionOf(limits);
  const seen: (readonly [isWorn: boolean, isSpent: boolean])[] = [];
  for (let count = 0; count <= 4; count++) {
    seen.push([session.isWorn, session.isSpent]);
    session.seal(new Uint8Array(32), 0, 0);
  }
  assert.deepEqual(seen, [
    [false, false],
    [false, false],
    [false, false],
    [true, false],
    [true, true],
  ]);
});

test('a counter that no message may have is refused, whatever the message', () => {
  for (const [counter, failure] of [
    [3n, undefined],
    [4n, 'counter'],
    [5n, 'counter'],
    [2n ** 53n, 'counter'],
    [2n ** 64n - 1n, 'counter'],
  ] as const) {
    using session = sessionOf({ rekeyAfter: 2, rejectAfter: 4 });
    const message = Buffer.concat([Buffer.alloc(DataOffset.packet), sealed(counter)]);
    message.writeBigUInt64LE(counter, DataOffset.counter);
    assert.equal(session.open(message, 0, message.length), failure, String(counter));
  }
});

test('a message that is not authentic does not take the place of the one with its counter', () => {
  using session = sessionOf();
  const genuine = Buffer.concat([Buffer.alloc(DataOffset.packet), sealed(0)]);
  const forged = Buffer.from(genuine).fill(1, DataOffset.packet);
  assert.equal(session.open(forged, 0, forged.length), 'authentication');
  const copy = Buffer.from(genuine);
  assert.equal(session.open(genuine, 0, genuine.length), undefined);
  assert.equal(session.open(copy, 0, copy.length), 'replay');
});
