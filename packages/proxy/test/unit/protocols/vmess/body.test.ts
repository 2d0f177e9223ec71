import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createSealer } from '@weir/crypto/aead';
import { ProtocolError } from '@weir/io';
import {
  type BodyKeys,
  type BodyTerms,
  ChunkNonce,
  requestKeys,
  responseKeys,
} from '../../../../src/protocols/vmess/body/body-keys.ts';
import {
  BodyOpener,
  BodySealer,
  LengthReader,
  LengthWriter,
  LONGEST_DATAGRAM,
} from '../../../../src/protocols/vmess/body/body-chunks.ts';
import { KnownRandom } from '../../../../../../test/support/known-random.ts';

const IV = Buffer.from('0123456789abcdef');
const KEY = Buffer.from('74f98a1a68a6eef54f359bfc5d5a2547', 'hex');

const terms = (options: number, security: 3 | 4 = 3): BodyTerms => ({
  iv: IV,
  key: KEY,
  options,
  security,
});

/** Every way in which chunks may be framed, with either cipher. */
const ALL: readonly BodyTerms[] = [0x01, 0x05, 0x0d, 0x11, 0x15, 0x1d].flatMap((options) => [
  terms(options, 3),
  terms(options, 4),
]);
const anyTerms = fc.constantFrom(...ALL);

const nameOf = ({ options, security }: BodyTerms): string =>
  `options 0x${options.toString(16)}, security ${security}`;

/** A whole body: payloads, and the end. */
function sealed(keys: BodyKeys, payloads: readonly Uint8Array[]): Buffer {
  using sealer = new BodySealer(keys, new KnownRandom());
  const chunks = payloads.map((payload) => sealer.stream(payload));
  return Buffer.concat([...chunks, sealer.end()]);
}

/** What an opener makes of bytes in these pieces. */
function opened(
  keys: BodyKeys,
  pieces: readonly Uint8Array[],
): { payload: Buffer; ended: boolean; mayEnd: boolean; error: unknown } {
  using opener = new BodyOpener(keys);
  const got: Uint8Array[] = [];
  let error: unknown;
  try {
    for (const piece of pieces) got.push(opener.push(piece));
  } catch (thrown) {
    error = thrown;
  }
  return { payload: Buffer.concat(got), ended: opener.ended, mayEnd: opener.mayEnd, error };
}

const cut = (bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] => {
  const ends = [...cuts.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
};

describe('the keys of a body', () => {
  test('of ChaCha20 are those of Xray-core', () => {
    // computed with Xray-core, GenerateChacha20Poly1305Key
    assert.equal(
      Buffer.from(requestKeys(terms(1, 4)).key).toString('hex'),
      'ef8ce73105789f8884168a302f7df229b2b5278b2ee32d8cfb26a0514cfcd2fa',
    );
  });

  test('differ for the directions, but not those of sealed lengths', () => {
    const up = requestKeys(terms(0x11));
    const down = responseKeys(terms(0x11));
    assert.notDeepEqual(up.key, down.key);
    assert.notDeepEqual(up.iv, down.iv);
    assert.deepEqual(up.lengths, down.lengths);
  });
});

describe('the lengths of chunks', () => {
  test('are masked as by Xray-core', () => {
    // computed with Xray-core, ShakeSizeParser of the same IV: padding and mask in turns
    const writer = new LengthWriter(requestKeys(terms(0x0d)));
    const out = Buffer.alloc(2);
    for (const [padding, mask] of [
      [0, 'c230'],
      [62, '77aa'],
      [61, 'e760'],
    ] as const) {
      const shape = writer.shape();
      assert.equal(shape.padding, padding);
      writer.write(0, shape, out);
      assert.equal(out.toString('hex'), mask);
    }
  });

  test('stay right beyond the first block of masks', () => {
    // Xray-core: the mask after 6 numbers and 199 more
    const writer = new LengthWriter(requestKeys(terms(0x05)));
    const out = Buffer.alloc(2);
    for (let i = 0; i < 206; i++) writer.write(0, writer.shape(), out);
    assert.equal(out.toString('hex'), '3d80');
  });

  test('are read as they were written, all of them', () => {
    for (const each of ALL) {
      using writer = new LengthWriter(requestKeys(each));
      using reader = new LengthReader(requestKeys(each));
      for (const length of [16, 17, 80, 1000, 16_384, 0xffff]) {
        const shape = writer.shape();
        const field = Buffer.alloc(writer.field);
        writer.write(length, shape, field);
        assert.deepEqual(reader.read(field), { length, padding: shape.padding }, nameOf(each));
      }
    }
  });

  test('that are sealed are refused when they were changed', () => {
    using writer = new LengthWriter(requestKeys(terms(0x1d)));
    const field = Buffer.alloc(writer.field);
    writer.write(100, writer.shape(), field);
    for (let at = 0; at < field.length; at++) {
      using reader = new LengthReader(requestKeys(terms(0x1d)));
      const other = Buffer.from(field);
      other.writeUInt8((other[at] ?? 0) ^ 1, at);
      assert.equal(reader.read(other), undefined);
    }
  });
});

describe('the nonces of chunks', () => {
  test('count in two bytes before the IV, and begin again', () => {
    const nonce = new ChunkNonce(IV);
    const seen = Array.from({ length: 65_538 }, () => Buffer.from(nonce.next()).toString('hex'));
    const rest = IV.subarray(2, 12).toString('hex');
    assert.equal(seen[0], `0000${rest}`);
    assert.equal(seen[258], `0102${rest}`);
    assert.equal(seen[65_535], `ffff${rest}`);
    assert.equal(seen[65_536], `0000${rest}`);
  });
});

describe('a body', () => {
  test('comes out as it went in, however it is framed and cut', () => {
    const payloads = fc.array(fc.uint8Array({ minLength: 1, maxLength: 600, size: 'max' }), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(
        anyTerms,
        payloads,
        fc.array(fc.nat(), { maxLength: 30, size: 'max' }),
        (each, parts, cuts) => {
          const bytes = sealed(requestKeys(each), parts);
          const { payload, ended, error } = opened(requestKeys(each), cut(bytes, cuts));
          assert.equal(error, undefined);
          assert.deepEqual(payload, Buffer.concat(parts));
          assert.equal(ended, true);
        },
      ),
    );
  });

  test('comes out byte by byte as well', () => {
    for (const each of ALL) {
      const parts = [Buffer.alloc(700, 1), Buffer.of(2)];
      const bytes = sealed(requestKeys(each), parts);
      const { payload, ended } = opened(requestKeys(each), cut(bytes, [...bytes.keys()]));
      assert.deepEqual(payload, Buffer.concat(parts), nameOf(each));
      assert.equal(ended, true);
    }
  });

  test('of a large write is cut into chunks of at most 2^14 bytes', () => {
    const keys = requestKeys(terms(0x01));
    const payload = Buffer.alloc(100_000, 5);
    const bytes = sealed(keys, [payload]);
    const lengths: number[] = [];
    for (let at = 0; at < bytes.length; at += 2 + (lengths.at(-1) ?? 0)) {
      lengths.push(bytes.readUInt16BE(at));
    }
    assert.ok(lengths.every((length) => length <= 16_384));
    assert.equal(lengths.at(-1), 16);
    assert.deepEqual(opened(keys, [bytes]).payload, payload);
  });

  test('has as many ends as datagrams', () => {
    for (const each of ALL) {
      const keys = requestKeys(each);
      using sealer = new BodySealer(keys, new KnownRandom());
      using opener = new BodyOpener(keys);
      const sizes = [1, 1400, LONGEST_DATAGRAM, 2];
      const run = Buffer.concat(sizes.map((size) => sealer.datagram(Buffer.alloc(size, 1))));
      const ends: number[] = [];
      for (const piece of cut(run, [3, 5000, 40_000])) {
        const before = ends.length;
        const payload = opener.push(piece, ends);
        assert.equal(ends.length > before ? ends.at(-1) : 0, payload.length);
      }
      assert.equal(ends.length, sizes.length, nameOf(each));
    }
  });

  test('may end with its carrier between chunks, and nowhere else', () => {
    for (const each of ALL) {
      const keys = requestKeys(each);
      using sealer = new BodySealer(keys, new KnownRandom());
      const chunk = sealer.stream(Buffer.from('hello'));
      for (let end = 0; end <= chunk.length; end++) {
        const { mayEnd } = opened(keys, [chunk.subarray(0, end)]);
        assert.equal(mayEnd, end === 0 || end === chunk.length, nameOf(each));
      }
    }
  });

  test('without the option of an end has none', () => {
    const keys = requestKeys(terms(0x04));
    using sealer = new BodySealer(keys, new KnownRandom());
    assert.equal(sealer.end().length, 0);
    assert.deepEqual([...sealer.end(Buffer.of(9))], [9]);
    assert.equal(opened(keys, [sealer.stream(Buffer.of(1))]).payload.length, 1);
  });

  test('gives nothing after its end', () => {
    const keys = requestKeys(terms(0x0d));
    const bytes = sealed(keys, [Buffer.from('hello')]);
    const { payload, ended } = opened(keys, [bytes, bytes, Buffer.alloc(100_000)]);
    assert.equal(String(payload), 'hello');
    assert.equal(ended, true);
  });

  test('that was changed gives the start of what was sent, or nothing', () => {
    const parts = [Buffer.from('first'), Buffer.from('second'), Buffer.from('third')];
    const whole = Buffer.concat(parts).toString('latin1');
    fc.assert(
      fc.property(
        anyTerms,
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        fc.array(fc.nat(), { maxLength: 4 }),
        (each, at, flip, cuts) => {
          const keys = requestKeys(each);
          const bytes = sealed(keys, parts);
          const where = at % bytes.length;
          bytes.writeUInt8((bytes[where] ?? 0) ^ flip, where);
          const { payload, error } = opened(keys, cut(bytes, cuts));
          assert.ok(error === undefined || error instanceof ProtocolError, String(error));
          assert.ok(whole.startsWith(payload.toString('latin1')));
        },
      ),
    );
  });

  test('does not end because its lengths were changed', () => {
    // Masks hide a length but do not authenticate it: an attacker who knows it can change it to that of
    // an empty chunk.
    const keys = requestKeys(terms(0x05));
    const bytes = sealed(keys, [Buffer.from('hello')]);
    bytes.writeUInt16BE(bytes.readUInt16BE() ^ (16 + 5) ^ 16);
    const { ended, error } = opened(keys, [bytes]);
    assert.equal(ended, false);
    assert.ok(error instanceof ProtocolError);
  });

  test('is refused for every length below a tag and its padding', () => {
    for (const each of [terms(0x01), terms(0x0d), terms(0x0d, 4)]) {
      const keys = requestKeys(each);
      for (let length = 0; length < 16; length++) {
        using writer = new LengthWriter(keys);
        const shape = writer.shape();
        const field = Buffer.alloc(2);
        writer.write(length + shape.padding, shape, field);
        const { error } = opened(keys, [field]);
        assert.ok(error instanceof ProtocolError, `${nameOf(each)}: ${length}`);
      }
    }
  });

  test('is held up to the longest length that can be sealed, and then refused', () => {
    const keys = requestKeys(terms(0x11));
    assert.ok(keys.lengths);
    using sealer = createSealer(keys.cipher, keys.lengths.key);
    const field = Buffer.alloc(18);
    sealer.seal(new ChunkNonce(keys.lengths.iv).next(), Buffer.of(0xff, 0xff), field);
    const longest = Buffer.alloc(0xffff + 16);
    assert.equal(opened(keys, [field, longest.subarray(1)]).error, undefined);
    assert.ok(opened(keys, [field, longest]).error instanceof ProtocolError);
  });

  test('of any bytes gives a named error or waits, the same in any pieces', () => {
    fc.assert(
      fc.property(
        anyTerms,
        fc.uint8Array({ maxLength: 300, size: 'max' }),
        fc.array(fc.nat(), { maxLength: 8 }),
        (each, bytes, cuts) => {
          const keys = requestKeys(each);
          const once = opened(keys, [bytes]);
          const pieces = opened(keys, cut(bytes, cuts));
          for (const { error, payload } of [once, pieces]) {
            assert.ok(error === undefined || error instanceof ProtocolError, String(error));
            assert.equal(payload.length, 0);
          }
          assert.equal(String(once.error), String(pieces.error));
        },
      ),
    );
  });
});
