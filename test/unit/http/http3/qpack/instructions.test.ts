import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { http3ErrorName } from '../../../../../src/http/http3/errors.ts';
import { InstructionReader } from '../../../../../src/http/http3/qpack/instructions.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** The error of a peer's stream, if any; the same when its octets arrive one by one. */
function errorOf(kind: 'encoder' | 'decoder', text: string): string | undefined {
  const bytes = hex(text);
  const whole = new InstructionReader(kind).feed(bytes);
  const reader = new InstructionReader(kind);
  const single = Array.from(bytes, (byte) => reader.feed(Uint8Array.of(byte))).find(Boolean);
  assert.deepEqual([single?.code, single?.reason], [whole?.code, whole?.reason], text);
  if (!whole) return undefined;
  assert.equal(whole.scope, 'connection');
  return `${http3ErrorName(whole.code)}: ${whole.reason}`;
}

describe("the peer's encoder stream, where no dynamic table was allowed", () => {
  test('may set the capacity to 0, again and again (RFC 9204 §4.3.1)', () => {
    assert.equal(errorOf('encoder', ''), undefined);
    assert.equal(errorOf('encoder', '20'.repeat(100)), undefined);
  });

  test('has no other capacity (RFC 9204 §4.3.1)', () => {
    for (const text of ['21', '20 3e', '3f00', '3f 81ffffffffffffff', '3f e0ffffffffffff0f']) {
      assert.equal(
        errorOf('encoder', text),
        'QPACK_ENCODER_STREAM_ERROR: the capacity exceeds the limit',
        text,
      );
    }
    // Not before the integer is complete.
    assert.equal(errorOf('encoder', '3f 8080808080 8080'), undefined);
  });

  test('inserts and duplicates nothing (RFC 9204 §3.2.2, §4.3.2 to §4.3.4)', () => {
    for (const text of ['c1 00', '80 00', '41 61 00', '5f', '00', '1f', '20 00']) {
      assert.equal(
        errorOf('encoder', text),
        'QPACK_ENCODER_STREAM_ERROR: an insertion exceeds the capacity',
        text,
      );
    }
  });
});

describe("the peer's decoder stream, where no entries were inserted", () => {
  test('may cancel any streams (RFC 9204 §4.4.2)', () => {
    assert.equal(errorOf('decoder', ''), undefined);
    assert.equal(errorOf('decoder', '40 44 7e 7f00 7f8001 40'.repeat(50)), undefined);
    // The largest stream id that is read.
    assert.equal(errorOf('decoder', '7f c0ffffffffffff0f 40'), undefined);
  });

  test('cancels no stream with an id above 2^53 - 1', () => {
    for (const text of ['7f c1ffffffffffff0f', '7f ffffffffffffffff', '44 7f c1ffffffffffff0f']) {
      assert.equal(
        errorOf('decoder', text),
        'QPACK_DECODER_STREAM_ERROR: a stream id is too large',
        text,
      );
    }
    assert.equal(errorOf('decoder', '7f ffffffffffff'), undefined);
  });

  test('acknowledges neither sections nor insertions (RFC 9204 §4.4.1, §4.4.3)', () => {
    for (const text of ['80', 'ff', 'c4', '00', '01', '3f', '40 80', '7f00 01']) {
      assert.equal(
        errorOf('decoder', text),
        'QPACK_DECODER_STREAM_ERROR: an acknowledgement of no insertion',
        text,
      );
    }
  });
});
