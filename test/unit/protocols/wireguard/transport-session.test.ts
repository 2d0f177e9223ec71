import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { test } from 'node:test';
import { packetCiphers } from '../../../../src/crypto/aead/packet-ciphers.ts';
import { TransportSession } from '../../../../src/protocols/wireguard/transport-session.ts';
import { DataOffset, TAG_SIZE } from '../../../../src/protocols/wireguard/wire.ts';

const KEY = Buffer.alloc(32, 0x11);
const PACKET = Buffer.from('a packet of thirty-two bytes, so');

/** A session whose peer has the same key in both directions. */
const sessionOf = (): TransportSession =>
  new TransportSession(
    { sending: Uint8Array.from(KEY), receiving: Uint8Array.from(KEY) },
    { index: 1, peerIndex: 2, isInitiator: true, createdAt: 0 },
  );

/** The packet of a data message as the whitepaper says it (§5.4.6), by another implementation. */
function sealed(counter: number): Buffer {
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
