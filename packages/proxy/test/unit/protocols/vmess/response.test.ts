import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { ProtocolError } from '@weir/io';
import {
  responseKeys,
  responseSecrets,
  type BodyTerms,
} from '../../../../src/protocols/vmess/body/body-keys.ts';
import { BodySealer } from '../../../../src/protocols/vmess/body/body-chunks.ts';
import {
  responseBox,
  sealHeader,
  sealLength,
} from '../../../../src/protocols/vmess/header/header-seal.ts';
import { ResponseDecoder, sealResponse } from '../../../../src/protocols/vmess/header/response.ts';
import { KnownRandom } from '../../../../../../test/support/known-random.ts';

const TERMS: BodyTerms & { readonly answer: number } = {
  iv: Buffer.alloc(16, 1),
  key: Buffer.alloc(16, 2),
  options: 0x0d,
  security: 3,
  answer: 77,
};

function body(text: string): Buffer {
  using sealer = new BodySealer(responseKeys(TERMS), new KnownRandom());
  return Buffer.concat([sealer.stream(Buffer.from(text)), sealer.end()]);
}

function forged(header: Uint8Array, length = header.length): Buffer {
  const { key, iv } = responseSecrets(TERMS);
  const box = responseBox(key, iv);
  return Buffer.concat([sealLength(box, length), sealHeader(box, header)]);
}

function decode(pieces: readonly Uint8Array[]): { text: string; decoder: ResponseDecoder } {
  const decoder = new ResponseDecoder(TERMS);
  const text = pieces.map((piece) => Buffer.from(decoder.push(piece)).toString()).join('');
  decoder[Symbol.dispose]();
  return { text, decoder };
}

describe('the answer of a server', () => {
  test('is its header and then its body, in any pieces', () => {
    const bytes = Buffer.concat([sealResponse(TERMS), body('hello')]);
    fc.assert(
      fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 10 }), (cuts) => {
        const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
        const pieces = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
        const { text, decoder } = decode(pieces);
        assert.equal(text, 'hello');
        assert.equal(decoder.ended, true);
      }),
    );
  });

  test('may end after its header and not before', () => {
    const header = sealResponse(TERMS);
    for (let end = 0; end <= header.length; end++) {
      assert.equal(decode([header.subarray(0, end)]).decoder.mayEnd, end === header.length);
    }
  });

  test('may have options and a command, which mean nothing here', () => {
    const command = Buffer.concat([Buffer.of(77, 1, 1, 5), Buffer.alloc(5, 9)]);
    assert.equal(decode([forged(command), body('hello')]).text, 'hello');
  });

  test('has a command of 255 bytes at most', () => {
    const longest = Buffer.alloc(4 + 255, 77);
    assert.equal(decode([forged(longest), body('hello')]).text, 'hello');
    assert.throws(() => decode([forged(Buffer.alloc(4 + 256, 77))]), ProtocolError);
    assert.throws(() => decode([forged(Buffer.of(77, 0, 0))]), ProtocolError);
  });

  test('is refused when another request was answered', () => {
    assert.throws(() => decode([forged(Buffer.of(78, 0, 0, 0))]), ProtocolError);
    const other = sealResponse({ ...TERMS, key: Buffer.alloc(16, 3) });
    assert.throws(() => decode([other]), /under another key/);
  });

  test('is refused with a length that no header has', () => {
    for (const length of [0, 3, 260, 0xffff]) {
      assert.throws(() => decode([forged(Buffer.of(77, 0, 0, 0), length)]), ProtocolError);
    }
    assert.throws(() => decode([forged(Buffer.of(77, 0, 0, 0), 5), Buffer.of(0)]), ProtocolError);
  });

  test('is refused when any byte of its header is another', () => {
    const header = sealResponse(TERMS);
    for (let at = 0; at < header.length; at++) {
      const bytes = Buffer.from(header);
      bytes.writeUInt8((bytes[at] ?? 0) ^ 1, at);
      assert.throws(() => decode([bytes]), ProtocolError);
    }
  });
});
