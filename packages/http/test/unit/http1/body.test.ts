import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { chunkedEncoder, createDecoder } from '../../../src/http1/body.ts';
import { type Framing } from '../../../src/http1/head.ts';
import { MessageError } from '../../../src/http1/message.ts';
import { CHUNK_LINE_LIMIT, FIELD_LINE_LIMIT, TRAILER_LIMIT } from '../../../src/limits.ts';
import { chunksOf } from '../../../../../test/support/http/http1/fuzz.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

/** Reads a body from chunks, and returns how many bytes it used. */
function decode(framing: Framing, chunks: readonly Uint8Array[], ended = false) {
  const decoder = createDecoder(framing);
  const payload: Uint8Array[] = [];
  let end = 0;
  for (const chunk of chunks) {
    if (decoder.done) break;
    end += decoder.push(chunk, payload);
  }
  if (ended) decoder.end();
  return {
    body: Buffer.concat(payload).toString('latin1'),
    done: decoder.done,
    end,
    trailers: decoder.trailers.map(({ name, value }) => `${name}=${value}`),
  };
}

const chunked = (text: string, cuts = [text.length]) =>
  decode({ kind: 'chunked' }, chunksOf(bytes(text), cuts));

describe('a body with a length', () => {
  test('ends after it and leaves what follows', () => {
    const read = decode({ kind: 'length', length: 5 }, [bytes('he'), bytes('llo, next')]);
    assert.deepEqual(read, { body: 'hello', done: true, end: 5, trailers: [] });
  });

  test('that is truncated is invalid', () => {
    assert.throws(() => decode({ kind: 'length', length: 5 }, [bytes('hell')], true), MessageError);
    assert.doesNotThrow(() => decode({ kind: 'none' }, [], true));
  });
});

describe('a body to the end of its connection', () => {
  test('is everything', () => {
    const read = decode({ kind: 'until-close' }, [bytes('a'), bytes('b')], true);
    assert.deepEqual(read, { body: 'ab', done: true, end: 2, trailers: [] });
  });
});

describe('a chunked body', () => {
  test('is its chunks without sizes, extensions and trailers', () => {
    const text =
      '5\r\nhello\r\n00a;x="y";z\r\n, 10 bytes\r\n1 ;q\r\n!\r\n0;last\r\nA: b\r\nC: \r\n\r\n';
    assert.deepEqual(chunked(`${text}next`), {
      body: 'hello, 10 bytes!',
      done: true,
      end: text.length,
      trailers: ['A=b', 'C='],
    });
  });

  test('may have blanks after its sizes, with which old servers pad them', () => {
    for (const blanks of [' ', '\t', '       ', ' \t', ' ;a']) {
      const text = `5${blanks}\r\nhello\r\n0${blanks}\r\n\r\n`;
      for (const cut of [text.length, 1]) {
        const read = chunked(`${text}next`, [cut]);
        assert.deepEqual([read.body, read.done, read.end], ['hello', true, text.length], blanks);
      }
    }
  });

  test('that is truncated is invalid', () => {
    for (const text of ['', '5', '5\r\nhe', '5\r\nhello\r\n', '0\r\n', '0\r\nA: b\r\n']) {
      assert.throws(
        () => decode({ kind: 'chunked' }, text === '' ? [] : [bytes(text)], true),
        MessageError,
        text,
      );
    }
  });

  const rejected: readonly (readonly [string, string])[] = [
    ['no size', '\r\n'],
    ['no number as size', 'x\r\n'],
    ['a sign before its size', '+5\r\nhello\r\n0\r\n\r\n'],
    ['a negative size', '-1\r\n'],
    ['0x before its size', '0x5\r\nhello\r\n0\r\n\r\n'],
    ['a space before its size', ' 5\r\nhello\r\n0\r\n\r\n'],
    ['a digit after a space', '5 0\r\nhello\r\n0\r\n\r\n'],
    ['nothing but a space as size', ' \r\n'],
    ['a letter after a space', '5 x\r\nhello\r\n0\r\n\r\n'],
    ['a bare LF after a space', '5 \nhello\r\n0\r\n\r\n'],
    ['spaces without end', `5${' '.repeat(CHUNK_LINE_LIMIT)}`],
    ['a size beyond 2^53', '20000000000001\r\n'],
    ['a size that overflows', `${'f'.repeat(400)}\r\n`],
    ['a bare LF after its size', '5\nhello\r\n0\r\n\r\n'],
    ['a bare CR in an extension', '5;a\rb\r\nhello\r\n0\r\n\r\n'],
    ['a NUL in an extension', '5;\0\r\nhello\r\n0\r\n\r\n'],
    ['a chunk longer than its size', '4\r\nhello\r\n0\r\n\r\n'],
    ['a chunk that a bare LF ends', '5\r\nhello\n0\r\n\r\n'],
    ['a chunk that nothing ends', '5\r\nhello0\r\n\r\n'],
    ['a trailer without a name', '0\r\n: x\r\n\r\n'],
    ['a folded trailer', '0\r\nA: b\r\n c\r\n\r\n'],
    ['a bare LF after a trailer', '0\r\nA: b\n\r\n'],
    ['a bare LF at its end', '0\r\n\n'],
    ['an extension without end', `5;${'x'.repeat(CHUNK_LINE_LIMIT)}`],
    ['trailers without end', `0\r\n${'A: b\r\n'.repeat(TRAILER_LIMIT / 6 + 1)}`],
    ['one endless trailer', `0\r\nA: ${'b'.repeat(TRAILER_LIMIT)}`],
    ['too many trailers', `0\r\n${'A:\r\n'.repeat(FIELD_LINE_LIMIT + 1)}`],
  ];
  for (const [what, text] of rejected) {
    test(`with ${what} is invalid, wherever it is split`, () => {
      for (const cut of [text.length, 1, 3]) {
        assert.throws(() => chunked(text, [cut]), MessageError);
      }
    });
  }

  test('of one-byte chunks is a few pieces, not one for each byte', () => {
    const count = 20_000;
    for (const line of ['1', '1;a']) {
      const text = bytes(`${line}\r\nx\r\n`.repeat(count));
      const pieces: Uint8Array[] = [];
      assert.equal(createDecoder({ kind: 'chunked' }).push(text, pieces), text.length);
      assert.equal(Buffer.concat(pieces).toString('latin1'), 'x'.repeat(count));
      assert.ok(pieces.length < 10, `${pieces.length} pieces`);
    }
  });

  test('keeps its order where small and large chunks alternate', () => {
    const sizes = Array.from({ length: 200 }, (_, i) => (i * 37) % 600);
    const parts = sizes
      .filter((size) => size > 0)
      .map((size, i) => bytes(`${i % 10}`.repeat(size)));
    const text = parts.map(
      (part) => `${part.length.toString(16)}\r\n${part.toString('latin1')}\r\n`,
    );
    const read = chunked(`${text.join('')}0\r\n\r\n`);
    assert.deepEqual([read.body, read.done], [Buffer.concat(parts).toString('latin1'), true]);
  });

  test('that was encoded here decodes to the same body, wherever it is split', () => {
    const payload = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40, size: 'max' }), {
      maxLength: 30,
      size: 'max',
    });
    fc.assert(
      fc.property(payload, fc.array(fc.nat(50), { minLength: 1 }), (pieces, cuts) => {
        const encoder = chunkedEncoder(() => true);
        const wire = [
          ...(pieces.length > 0 ? encoder.frame(pieces) : []),
          ...pieces.flatMap((piece) => encoder.frame([piece])),
          ...encoder.finish([{ name: 'A', key: 'a', value: 'b' }]),
        ];
        const read = decode({ kind: 'chunked' }, chunksOf(Buffer.concat(wire), cuts));
        const all = Buffer.concat(pieces).toString('latin1');
        assert.deepEqual([read.body, read.done, read.trailers], [all + all, true, ['A=b']]);
      }),
      { numRuns: 500 },
    );
  });

  test('of very many tiny chunks is passed on as one', () => {
    const decoder = createDecoder({ kind: 'chunked' });
    const payload: Uint8Array[] = [];
    decoder.push(bytes('1\r\nx\r\n'.repeat(1000)), payload);
    const framed = chunkedEncoder(() => true).frame(payload);
    assert.equal(framed.length, 3);
    assert.equal(Buffer.concat(framed).toString(), `3e8\r\n${'x'.repeat(1000)}\r\n`);
  });
});
