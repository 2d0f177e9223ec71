import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SystemRandomSource } from '../../../../../src/crypto/random-source.ts';
import {
  DatagramSealer,
  SESSION_HEADER,
} from '../../../../../src/protocols/shadowsocks/edition-2022/datagrams.ts';
import { BlockCipher } from '../../../../../src/protocols/shadowsocks/edition-2022/identity.ts';
import {
  openMerged,
  ReceivingSession,
  sessionOpener,
} from '../../../../../src/protocols/shadowsocks/edition-2022/receiving-session.ts';
import { METHODS } from '../../../../../src/protocols/shadowsocks/methods.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';

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
