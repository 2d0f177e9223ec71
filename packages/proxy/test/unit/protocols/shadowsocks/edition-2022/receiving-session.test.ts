import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSealer, TAG_LENGTH } from '@weir/crypto/aead';
import { SystemRandomSource } from '@weir/base/random';
import {
  DatagramSealer,
  LONG_NONCE,
  readMessage,
  SESSION_HEADER,
  SESSION_ID,
} from '../../../../../src/protocols/shadowsocks/edition-2022/datagrams.ts';
import {
  BlockCipher,
  identityOf,
  xor,
} from '../../../../../src/protocols/shadowsocks/edition-2022/identity.ts';
import {
  openMerged,
  ReceivingSession,
  sessionOpener,
} from '../../../../../src/protocols/shadowsocks/edition-2022/receiving-session.ts';
import type { Endpoint } from '@weir/io/addresses';
import { METHODS } from '../../../../../src/protocols/shadowsocks/methods.ts';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';

const PEER = { host: '192.0.2.1', port: 443 };
const random = new SystemRandomSource();

/** A client's datagrams, and the server's session that opens them; `open` returns the data as text. */
function pair(name: '2022-blake3-aes-128-gcm' | '2022-blake3-chacha20-poly1305') {
  const method = METHODS[name];
  const clock = new ManualClock();
  const key = random.bytes(method.keyLength);
  const sealer = new DatagramSealer({ method, clock, random }, [key]);
  const { id } = sealer.session;
  const context = { wallMs: clock.wall(), clientSession: undefined };
  const seal = (text: string): Buffer => {
    const datagram = sealer.seal({ data: Buffer.from(text), peer: PEER });
    assert.ok(datagram);
    return datagram;
  };
  const textOf = (data: Uint8Array | undefined): string | undefined =>
    data && Buffer.from(data).toString();
  if (method.aead === 'chacha20-poly1305') {
    const shared = sessionOpener(method, key, id);
    const session = new ReceivingSession(method, key, id, shared);
    const open = (datagram: Uint8Array): string | undefined => {
      const plain = openMerged(shared, datagram);
      return plain && textOf(session.readMerged(plain, context)?.data);
    };
    return { seal, open };
  }
  const session = new ReceivingSession(method, key, id, undefined);
  const cipher = new BlockCipher(key);
  const open = (datagram: Uint8Array): string | undefined => {
    const header = cipher.decrypt(datagram.subarray(0, SESSION_HEADER));
    const sealed = datagram.subarray(SESSION_HEADER);
    return textOf(session.openSeparate(header, sealed, context)?.data);
  };
  return { seal, open };
}

for (const name of ['2022-blake3-aes-128-gcm', '2022-blake3-chacha20-poly1305'] as const) {
  describe(`a session of ${name} that receives`, () => {
    test('accepts each packet once, in any order', () => {
      const { seal, open } = pair(name);
      const [first, second] = [seal('first'), seal('second')];
      assert.equal(open(second), 'second');
      assert.equal(open(first), 'first');
      assert.equal(open(first), undefined);
      assert.equal(open(second), undefined);
    });

    test('accepts a packet after a forgery with the same id', () => {
      const { seal, open } = pair(name);
      const genuine = seal('genuine');
      const forged = Buffer.from(genuine);
      forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
      assert.equal(open(forged), undefined);
      assert.equal(open(genuine), 'genuine');
    });

    test('drops a datagram that is truncated anywhere', () => {
      const { seal, open } = pair(name);
      const datagram = seal('whole');
      for (let length = SESSION_HEADER; length < datagram.length; length++) {
        assert.equal(open(datagram.subarray(0, length)), undefined);
      }
      assert.equal(open(datagram), 'whole');
    });
  });
}

describe('a datagram of the 2022 edition', () => {
  const method = METHODS['2022-blake3-aes-128-gcm'];
  const clock = new ManualClock();
  const resolver = { host: '192.0.2.53', port: 53 };

  /** The body of a datagram to port 53, which is padded, with the context of its reader. */
  function padded(clientSession?: Uint8Array) {
    const key = random.bytes(method.keyLength);
    /** Bytes that only padding has. */
    const chosen = Object.assign(new SystemRandomSource(), {
      bytes: (length: number) => Buffer.alloc(length, 0xab),
      below: () => 6,
    });
    const sealer = new DatagramSealer({ method, clock, random: chosen }, [key], clientSession);
    const datagram = sealer.seal({ data: Buffer.from('query'), peer: resolver });
    assert.ok(datagram);
    const header = new BlockCipher(key).decrypt(datagram.subarray(0, SESSION_HEADER));
    const sealed = datagram.subarray(SESSION_HEADER);
    const body = Buffer.alloc(sealed.length - TAG_LENGTH);
    const opener = sessionOpener(method, key, sealer.session.id);
    assert.ok(opener.open(header.subarray(4), sealed, body));
    return { body, context: { wallMs: clock.wall(), clientSession } };
  }

  test('has random padding before its address, which is skipped', () => {
    const { body, context } = padded();
    assert.equal(body.toString('hex', 9, 18), `0007${'ab'.repeat(7)}`);
    const packet = readMessage(body, 0, context);
    assert.deepEqual(packet?.peer, resolver);
    assert.equal(String(packet.data), 'query');
  });

  test('is invalid where its main header is truncated', () => {
    const { body, context } = padded();
    const head = body.length - 'query'.length;
    for (let length = 0; length < head; length++) {
      assert.equal(readMessage(body.subarray(0, length), 0, context), undefined);
    }
    assert.equal(readMessage(body.subarray(0, head), 0, context)?.data.length, 0);
  });

  test('is a response to the session that it names alone', () => {
    const session = random.bytes(SESSION_ID);
    const { body, context } = padded(session);
    assert.ok(readMessage(body, 0, context));
    const other = Buffer.from(session);
    other[SESSION_ID - 1] = (other.at(-1) ?? 0) ^ 1;
    assert.equal(readMessage(body, 0, { ...context, clientSession: other }), undefined);
    assert.equal(readMessage(body, 0, { ...context, clientSession: undefined }), undefined);
  });

  test('is none for a host that does not fit', () => {
    const sealer = new DatagramSealer({ method, clock, random }, [random.bytes(method.keyLength)]);
    const data = Buffer.from('x');
    assert.equal(sealer.seal({ data, peer: { host: 'x'.repeat(256), port: 1 } }), undefined);
    assert.ok(sealer.seal({ data, peer: { host: 'x', port: 1 } }));
  });

  test('goes to the peer of each packet, whichever had the one before it', () => {
    const { seal, open } = peers();
    for (const peer of [
      { host: '192.0.2.1', port: 443 },
      { host: '192.0.2.1', port: 443 },
      { host: '192.0.2.1', port: 444 },
      { host: '192.0.2.2', port: 444 },
      { host: '192.0.2.2', port: 444 },
    ]) {
      assert.deepEqual(open(seal(peer)), peer);
    }
  });

  /** Datagrams of one session to any peer, and what they have as their peer. */
  function peers() {
    const key = random.bytes(method.keyLength);
    const sealer = new DatagramSealer({ method, clock, random }, [key]);
    const session = new ReceivingSession(method, key, sealer.session.id, undefined);
    const context = { wallMs: clock.wall(), clientSession: undefined };
    return {
      seal: (peer: Endpoint) => sealer.seal({ data: Buffer.from('x'), peer }),
      open: (datagram: Buffer | undefined) => {
        assert.ok(datagram);
        const header = new BlockCipher(key).decrypt(datagram.subarray(0, SESSION_HEADER));
        return session.openSeparate(header, datagram.subarray(SESSION_HEADER), context)?.peer;
      },
    };
  }

  test('has an identity header under each key of a chain but the last (SIP023)', () => {
    const keys = [1, 2, 3].map(() => random.bytes(method.keyLength));
    const [first, second, third] = keys;
    assert.ok(first && second && third);
    const datagram = new DatagramSealer({ method, clock, random }, keys).seal({
      data: Buffer.from('x'),
      peer: PEER,
    });
    assert.ok(datagram);
    const block = (index: number): Buffer =>
      datagram.subarray(SESSION_HEADER * index, SESSION_HEADER * (index + 1));
    const header = new BlockCipher(first).decrypt(block(0));
    const xored = (a: Buffer): Buffer => Buffer.from(a.map((byte, i) => byte ^ (header[i] ?? 0)));
    assert.deepEqual(xored(new BlockCipher(first).decrypt(block(1))), identityOf(second));
    assert.deepEqual(xored(new BlockCipher(second).decrypt(block(2))), identityOf(third));
    assert.deepEqual(xor(Buffer.of(0b1100), Buffer.of(0b1010)), Buffer.of(0b0110));
  });

  test('has a packet id of up to 53 bits', () => {
    const session = new ReceivingSession(method, random.bytes(16), random.bytes(8), undefined);
    const { body, context } = padded();
    const plain = (high: number, low = 0): Buffer => {
      const header = Buffer.alloc(SESSION_HEADER);
      header.writeUInt32BE(high, SESSION_ID);
      header.writeUInt32BE(low, SESSION_ID + 4);
      return Buffer.concat([header, body]);
    };
    for (const high of [0, 1, 0x1f_ffff]) assert.ok(session.readMerged(plain(high), context));
    assert.equal(session.readMerged(plain(1), context), undefined, 'accepted already');
    assert.equal(session.readMerged(plain(0, 5), context), undefined, 'far below the newest');
    assert.ok(session.readMerged(plain(0x1f_ffff, 5), context));
    for (const high of [0x20_0000, 0xffff_ffff]) {
      assert.equal(session.readMerged(plain(high), context), undefined);
    }
  });

  test('that is authentic but too short for its session header is invalid', () => {
    const key = random.bytes(32);
    const nonce = random.bytes(LONG_NONCE);
    const opener = sessionOpener(METHODS['2022-blake3-chacha20-poly1305'], key, nonce);
    for (const [length, isLongEnough] of [
      [SESSION_HEADER - 1, false],
      [SESSION_HEADER, true],
    ] as const) {
      const sealed = Buffer.alloc(length + TAG_LENGTH);
      createSealer('xchacha20-poly1305', key).seal(nonce, Buffer.alloc(length), sealed);
      const plain = openMerged(opener, Buffer.concat([nonce, sealed]));
      assert.equal(plain !== undefined, isLongEnough);
    }
  });
});
