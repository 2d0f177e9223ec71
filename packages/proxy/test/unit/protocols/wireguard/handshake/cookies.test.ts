import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { X25519PrivateKey } from '@weir/crypto/x25519';
import { MacReader, MacWriter } from '../../../../../src/protocols/wireguard/handshake/cookies.ts';
import { COOKIE_SECRET_TIME } from '../../../../../src/protocols/wireguard/limits.ts';
import { SeededRandom } from '../../../../../../../test/support/simnet/seeded-random.ts';
import { HANDSHAKES } from '../../../../../../../test/support/protocols/wireguard/vectors.ts';
import { endpoint as at } from '../../../../../../../test/support/data/ip-packets.ts';

const RESPONDER = new X25519PrivateKey(new Uint8Array(32).fill(0x22)).publicKey;

const CLIENT = at('192.0.2.1', 51_820);

/** An initiation, or what stands for one: only its length and the codes count here. */
const initiation = (): Buffer => Buffer.alloc(148, 0xab).fill(0, 116);
const hex = (part: Uint8Array): string => Buffer.from(part).toString('hex');

for (const vector of HANDSHAKES) {
  test('codes and cookies are those of the whitepaper', () => {
    const writer = new MacWriter(RESPONDER);
    const message = Buffer.from(vector.initiation, 'hex').fill(0, 116);
    writer.write(message, 0);
    assert.equal(hex(message), vector.initiation);

    // The secret of the vector, and its nonce.
    const fixed = new SeededRandom(1);
    const fills = [0x55, 0x66];
    fixed.fill = (target) => void target.fill(fills.shift() ?? 0);
    const reader = new MacReader(RESPONDER, fixed);
    const reply = reader.reply(message, CLIENT, 0);
    assert.equal(hex(reply), vector.cookieReply);

    assert.ok(writer.readReply(reply, 0));
    const again = Buffer.from(vector.initiation, 'hex').fill(0, 116);
    writer.write(again, 1);
    assert.equal(hex(again.subarray(132)), vector.mac2);
    assert.equal(reader.check(again, CLIENT, 1), 'known address');
  });
}

describe('the code of a message', () => {
  test('is valid for the key that it was made for alone', () => {
    const message = initiation();
    new MacWriter(RESPONDER).write(message, 0);
    const random = new SeededRandom(1);
    assert.equal(new MacReader(RESPONDER, random).check(message, CLIENT, 0), 'known key');
    const other = new X25519PrivateKey(new Uint8Array(32).fill(0x23)).publicKey;
    assert.equal(new MacReader(other, random).check(message, CLIENT, 0), 'invalid');
    message[50] = 1;
    assert.equal(new MacReader(RESPONDER, random).check(message, CLIENT, 0), 'invalid');
  });
});

describe('a cookie', () => {
  test('proves the address and port that it was sent to, for two minutes', () => {
    const random = new SeededRandom(2);
    const reader = new MacReader(RESPONDER, random);
    const writer = new MacWriter(RESPONDER);
    const first = initiation();
    writer.write(first, 0);
    assert.ok(writer.readReply(reader.reply(first, CLIENT, 0), 0));
    const second = initiation();
    writer.write(second, 10);
    assert.equal(reader.check(second, CLIENT, 10), 'known address');
    assert.equal(reader.check(second, at('192.0.2.1', 51_821), 10), 'known key');
    assert.equal(reader.check(second, at('192.0.2.2', 51_820), 10), 'known key');
    assert.equal(reader.check(second, CLIENT, COOKIE_SECRET_TIME), 'known key');
    const late = initiation();
    writer.write(late, COOKIE_SECRET_TIME);
    assert.deepEqual(late.subarray(132), Buffer.alloc(16), 'the sender forgets it as well');
  });

  test('is made with another secret after two minutes, and good at once', () => {
    const reader = new MacReader(RESPONDER, new SeededRandom(4));
    reader.reply(initiation(), CLIENT, 0);
    const writer = new MacWriter(RESPONDER);
    const first = initiation();
    writer.write(first, COOKIE_SECRET_TIME);
    const reply = reader.reply(first, CLIENT, COOKIE_SECRET_TIME);
    assert.ok(writer.readReply(reply, COOKIE_SECRET_TIME));
    const second = initiation();
    writer.write(second, COOKIE_SECRET_TIME);
    assert.equal(reader.check(second, CLIENT, COOKIE_SECRET_TIME), 'known address');
  });

  test('proves the address whatever bytes its code has', () => {
    const reader = new MacReader(RESPONDER, new SeededRandom(5));
    const writer = new MacWriter(RESPONDER);
    const first = initiation();
    writer.write(first, 0);
    assert.ok(writer.readReply(reader.reply(first, CLIENT, 0), 0));
    let withZero = 0;
    for (let index = 0; index < 100; index++) {
      const message = initiation().fill(index, 4, 8);
      writer.write(message, 0);
      if (message.subarray(132).includes(0)) withZero++;
      assert.equal(reader.check(message, CLIENT, 0), 'known address');
    }
    assert.ok(withZero > 0);
  });

  test('is read from one reply to the last message, and from no other', () => {
    const reader = new MacReader(RESPONDER, new SeededRandom(3));
    const writer = new MacWriter(RESPONDER);
    const first = initiation();
    assert.equal(writer.readReply(reader.reply(first, CLIENT, 0), 0), false, 'nothing was sent');
    writer.write(first, 0);
    const reply = reader.reply(first, CLIENT, 0);
    const second = initiation().fill(1, 0, 10);
    writer.write(second, 1);
    assert.equal(writer.readReply(reply, 1), false, 'it belongs to the first message');
    const changed = reader.reply(second, CLIENT, 1);
    changed[40] = (changed[40] ?? 0) ^ 1;
    assert.equal(writer.readReply(changed, 1), false);
    const genuine = reader.reply(second, CLIENT, 1);
    assert.equal(writer.readReply(genuine, 1), true);
    assert.equal(writer.readReply(genuine, 1), false, 'a copy');
  });
});
