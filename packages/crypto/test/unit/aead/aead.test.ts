import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { agrees } from '../../../src/aead/self-test.ts';
import {
  AEAD_SHAPES,
  type AeadBackend,
  type AeadName,
  NonceCounter,
  type Sealer,
} from '../../../src/aead/contract.ts';
import { chooseAead, openOpensslAead } from '../../../src/aead/aead.ts';
import { baselineAead, hchacha20 } from '../../../src/aead/baseline-aead.ts';
import { checkedAead } from '../../../src/aead/checked.ts';

const NAMES = Object.keys(AEAD_SHAPES) as AeadName[];

test('HChaCha20 derives the key of draft-irtf-cfrg-xchacha-03 §2.2.1', () => {
  const key = Uint8Array.from({ length: 32 }, (_, index) => index);
  const prefix = Buffer.from('000000090000004a0000000031415927', 'hex');
  assert.equal(
    Buffer.from(hchacha20(key, prefix)).toString('hex'),
    '82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc',
  );
});

test('a nonce counts up as one little-endian number', () => {
  const counter = new NonceCounter(12);
  assert.deepEqual(Buffer.from(counter.bytes), Buffer.alloc(12));
  for (let i = 0; i < 0x1_0203; i++) counter.next();
  assert.equal(Buffer.from(counter.bytes).toString('hex'), '030201000000000000000000');
  const reached = Buffer.from(counter.bytes);
  assert.deepEqual(Buffer.from(new NonceCounter(12).at(0x1_0203)), reached);
  assert.equal(
    Buffer.from(new NonceCounter(24).at(Number.MAX_SAFE_INTEGER)).toString('hex'),
    'ffffffffffff1f'.padEnd(48, '0'),
  );
  counter.bytes.fill(0xff);
  counter.next();
  assert.deepEqual(Buffer.from(counter.bytes), Buffer.alloc(12));
});

test('the environment chooses: the fast way by default, the baseline on request', () => {
  assert.equal(chooseAead('').name, 'openssl');
  assert.equal(chooseAead('checked').name, 'openssl');
  assert.equal(chooseAead('baseline').name, 'baseline');
});

test('the self-test passes the implementations that there are', () => {
  assert.equal(agrees(openOpensslAead(), baselineAead), true);
});

/** The baseline with a fault in one thing that it does. */
function faulty(fault: (sealer: Sealer) => Sealer['seal']): AeadBackend {
  return {
    ...baselineAead,
    sealer(name, key) {
      const sealer = baselineAead.sealer(name, key);
      const seal = fault(sealer);
      return {
        name,
        seal,
        rekey: (next) => sealer.rekey(next),
        [Symbol.dispose]: () => sealer[Symbol.dispose](),
      };
    },
  };
}

test('the self-test stops an implementation that seals wrongly, and one that throws', () => {
  const oneBit = faulty((sealer) => (nonce, plain, out, associated) => {
    sealer.seal(nonce, plain, out, associated);
    if (plain.length === 16_383) out[5_000]! ^= 1;
  });
  assert.equal(agrees(oneBit, baselineAead), false);
  const throws = faulty(() => () => {
    throw new Error('no');
  });
  assert.equal(agrees(throws, baselineAead), false);
});

test('the self-test stops an implementation that opens what is forged', () => {
  const trusting: AeadBackend = {
    ...baselineAead,
    opener(name, key) {
      const opener = baselineAead.opener(name, key);
      return {
        name,
        open(...parts) {
          opener.open(...parts);
          return true;
        },
        rekey: (next) => opener.rekey(next),
        [Symbol.dispose]: () => opener[Symbol.dispose](),
      };
    },
  };
  assert.equal(agrees(trusting, baselineAead), false);
});

test('both implementations seal the same, open each other, and keep their contexts apart', () => {
  const fast = openOpensslAead();
  for (const name of NAMES) {
    const { keyLength, nonceLength } = AEAD_SHAPES[name];
    const bytes = (length: number): fc.Arbitrary<Uint8Array> =>
      fc.uint8Array({ minLength: length, maxLength: length });
    using reused = fast.sealer(name, new Uint8Array(keyLength));
    fc.assert(
      fc.property(
        bytes(keyLength),
        bytes(nonceLength),
        fc.uint8Array({ maxLength: 300, size: 'max' }),
        fc.option(fc.uint8Array({ maxLength: 40, size: 'max' }), { nil: undefined }),
        (key, nonce, plain, associated) => {
          using slow = baselineAead.sealer(name, key);
          using opener = fast.opener(name, key);
          using slowOpener = baselineAead.opener(name, key);
          reused.rekey(key);
          const [a, b] = [Buffer.alloc(plain.length + 16), Buffer.alloc(plain.length + 16)];
          slow.seal(nonce, plain, a, associated);
          reused.seal(nonce, plain, b, associated);
          assert.deepEqual(a, b);
          const out = new Uint8Array(plain.length);
          assert.ok(opener.open(nonce, a, out, associated));
          assert.deepEqual(out, plain);
          out.fill(0);
          assert.ok(slowOpener.open(nonce, b, out, associated));
          assert.deepEqual(out, plain);
        },
      ),
      { numRuns: 60 },
    );
  }
});

test('thousands of ciphers open, work, interleave and close without a mistake', () => {
  const backend = checkedAead(openOpensslAead(), baselineAead);
  const nonce = new NonceCounter(12);
  const live: Sealer[] = [];
  const plain = Buffer.alloc(100, 5);
  for (let i = 0; i < 3000; i++) {
    live.push(backend.sealer('aes-128-gcm', Buffer.alloc(16, i)));
    const at = (i * 7919) % live.length;
    live[at]!.seal(nonce.bytes, plain, Buffer.alloc(116));
    nonce.next();
    if (live.length > 50) live.splice((i * 31) % live.length, 1)[0]![Symbol.dispose]();
  }
  for (const sealer of live) sealer[Symbol.dispose]();
  for (const sealer of live) {
    assert.throws(() => sealer.seal(nonce.bytes, plain, Buffer.alloc(116)), { code: 'crypto' });
  }
});

test('the checked implementation reports a wrong message and an overlap', () => {
  const wrong = faulty((sealer) => (nonce, plain, out) => {
    sealer.seal(nonce, plain, out);
    out[0]! ^= 1;
  });
  using sealer = checkedAead(wrong, baselineAead).sealer('aes-128-gcm', Buffer.alloc(16));
  assert.throws(() => sealer.seal(Buffer.alloc(12), Buffer.alloc(4), Buffer.alloc(20)), {
    code: 'crypto',
    message: 'aes-128-gcm: a message was not sealed as the baseline seals it',
  });
  using right = checkedAead(baselineAead, baselineAead).sealer('aes-128-gcm', Buffer.alloc(16));
  const room = Buffer.alloc(64);
  assert.throws(() => right.seal(Buffer.alloc(12), room.subarray(0, 32), room.subarray(1)), {
    message: 'the output of a cipher overlaps its input',
  });
});
