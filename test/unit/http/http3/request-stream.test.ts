import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HttpField } from '../../../../src/http/fields/field.ts';
import { type Http3Error, http3ErrorName } from '../../../../src/http/http3/errors.ts';
import { frameHead } from '../../../../src/http/http3/frames.ts';
import {
  BODY_LIMIT,
  BUFFERED_FIELDS_LIMIT,
  FIELD_SECTION_LIMIT,
} from '../../../../src/http/http3/limits.ts';
import { encodeHeaderBlock } from '../../../../src/http/http3/qpack/header-block.ts';
import {
  FieldBudget,
  Http3RequestReader,
  Http3ResponseReader,
} from '../../../../src/http/http3/request-stream.ts';
import { INTERIM_LIMIT } from '../../../../src/http/limits.ts';

const frame = (type: number, payload: Uint8Array): Buffer =>
  Buffer.concat([frameHead(type, payload.length), payload]);
const headers = (fields: Readonly<Record<string, string>>): Buffer => {
  const list: HttpField[] = Object.entries(fields).map(([name, value]) => ({ name, value }));
  return frame(0x01, encodeHeaderBlock(list));
};
const data = (length: number): Buffer => frame(0x00, Buffer.alloc(length));
const status = (code: number): Buffer => headers({ ':status': String(code) });

const POST = { ':method': 'POST', ':scheme': 'https', ':authority': 'a.example', ':path': '/' };
const TRAILERS = headers({ checksum: '1' });

const request = (budget = BUFFERED_FIELDS_LIMIT): Http3RequestReader =>
  new Http3RequestReader(new FieldBudget(budget));
const response = (): Http3ResponseReader =>
  new Http3ResponseReader(new FieldBudget(BUFFERED_FIELDS_LIMIT));

const errorName = (error: Http3Error | undefined): string | undefined =>
  error && `${error.scope} ${http3ErrorName(error.code)}: ${error.reason}`;

describe('a request on its stream', () => {
  test('passes through its states, to the end (RFC 9114 §4.1)', () => {
    const reader = request();
    const states = [headers(POST), data(3), TRAILERS].map((bytes) => {
      const before = reader.state;
      assert.equal(reader.feed(bytes), undefined);
      return before;
    });
    assert.deepEqual([...states, reader.state], ['header', 'body', 'body', 'trailers']);
    assert.equal(reader.end(), undefined);
    reader.release();
    assert.equal(reader.state, 'ended');
    assert.equal(reader.head, undefined);
  });

  for (const [what, parts, expected] of [
    ['DATA at first', [data(1)], 'connection H3_FRAME_UNEXPECTED: DATA outside of a body'],
    [
      'DATA after the trailers',
      [headers(POST), TRAILERS, data(0)],
      'connection H3_FRAME_UNEXPECTED: DATA outside of a body',
    ],
    [
      'HEADERS after the trailers',
      [headers(POST), TRAILERS, TRAILERS],
      'connection H3_FRAME_UNEXPECTED: HEADERS after the trailers',
    ],
    [
      'PUSH_PROMISE',
      [frame(0x05, Buffer.alloc(1))],
      'connection H3_FRAME_UNEXPECTED: PUSH_PROMISE from a client',
    ],
    [
      'GOAWAY',
      [frame(0x07, Buffer.alloc(1))],
      'connection H3_FRAME_UNEXPECTED: a frame of the control stream on a request stream',
    ],
    [
      'an empty header block',
      [frame(0x01, Buffer.alloc(0))],
      'connection QPACK_DECOMPRESSION_FAILED: the prefix of the header block is incomplete',
    ],
    [
      'a frame of HTTP/2',
      [frame(0x06, Buffer.alloc(8))],
      'connection H3_FRAME_UNEXPECTED: a frame of HTTP/2',
    ],
  ] as const) {
    test(`with ${what} fails, and its budget is returned`, () => {
      const budget = new FieldBudget(BUFFERED_FIELDS_LIMIT);
      const reader = new Http3RequestReader(budget);
      assert.equal(errorName(reader.feed(Buffer.concat(parts))), expected);
      assert.equal(reader.state, 'ended');
      assert.ok(budget.take(BUFFERED_FIELDS_LIMIT));
    });
  }

  test('that was released stays so, whatever else arrives of its header section', () => {
    const reader = request();
    const bytes = headers(POST);
    reader.feed(bytes.subarray(0, 10));
    reader.release();
    assert.equal(reader.feed(bytes.subarray(10)), undefined);
    assert.deepEqual([reader.state, reader.head], ['ended', undefined]);
  });

  test('may have header sections up to the limit, which is checked at their head', () => {
    assert.equal(request().feed(frameHead(0x01, FIELD_SECTION_LIMIT)), undefined);
    assert.equal(
      errorName(request().feed(frameHead(0x01, FIELD_SECTION_LIMIT + 1))),
      'stream H3_EXCESSIVE_LOAD: the header block is too large',
    );
    assert.equal(request(100).feed(frameHead(0x01, 100)), undefined);
    assert.equal(
      errorName(request(100).feed(frameHead(0x01, 101))),
      'stream H3_EXCESSIVE_LOAD: too many header sections at once',
    );
  });
});

describe('the body of a request', () => {
  const declared = (length: number): Http3RequestReader => {
    const reader = request();
    assert.equal(reader.feed(headers({ ...POST, 'content-length': String(length) })), undefined);
    return reader;
  };
  const WRONG = 'stream H3_MESSAGE_ERROR: the body has another length than content-length';

  test('is complete with the declared length, not before (RFC 9114 §4.1.2)', () => {
    const reader = declared(5);
    assert.equal(request().hasDeclaredBody, false);
    assert.equal(reader.hasDeclaredBody, false);
    reader.feed(data(4));
    assert.equal(reader.hasDeclaredBody, false);
    reader.feed(data(1));
    assert.equal(reader.hasDeclaredBody, true);
    assert.equal(reader.end(), undefined);
    assert.equal(declared(0).hasDeclaredBody, true);
  });

  test('that is longer than declared fails at the head of its frame', () => {
    assert.equal(errorName(declared(5).feed(frameHead(0x00, 6))), WRONG);
    const reader = declared(5);
    assert.equal(reader.feed(data(3)), undefined);
    assert.equal(errorName(reader.feed(frameHead(0x00, 3))), WRONG);
  });

  test('that is shorter than declared fails at the trailers, or at the end', () => {
    for (const [last, end] of [
      [TRAILERS, WRONG],
      [Buffer.alloc(0), undefined],
    ] as const) {
      const reader = declared(5);
      reader.feed(data(4));
      assert.equal(errorName(reader.feed(last)), end);
      if (end === undefined) assert.equal(errorName(reader.end()), WRONG);
    }
    const whole = declared(5);
    assert.equal(whole.feed(Buffer.concat([data(5), TRAILERS])), undefined);
    assert.equal(whole.end(), undefined);
  });

  test('is too long behind the limit, not at it', () => {
    const reader = request();
    reader.feed(headers(POST));
    reader.feed(data(BODY_LIMIT));
    assert.equal(reader.isBodyTooLong, false);
    reader.feed(data(1));
    assert.equal(reader.isBodyTooLong, true);
    // Counted as it arrives, not when its frame is complete.
    const endless = request();
    endless.feed(Buffer.concat([headers(POST), frameHead(0x00, 10 * BODY_LIMIT)]));
    endless.feed(Buffer.alloc(BODY_LIMIT));
    assert.equal(endless.isBodyTooLong, false);
    endless.feed(Buffer.alloc(1));
    assert.equal(endless.isBodyTooLong, true);
  });

  test('that ends within a frame is H3_FRAME_ERROR, and without a head H3_REQUEST_INCOMPLETE', () => {
    const reader = request();
    reader.feed(headers(POST));
    reader.feed(frameHead(0x00, 2));
    assert.match(errorName(reader.end()) ?? '', /^connection H3_FRAME_ERROR/);
    assert.equal(
      errorName(request().end()),
      'stream H3_REQUEST_INCOMPLETE: the stream ended before a header section',
    );
  });
});

test('a message may have frames of unknown types anywhere, which are dropped (RFC 9114 §9)', () => {
  const unknown = frame(0x21, Buffer.from('grease'));
  const reader = request();
  const parts = [unknown, headers(POST), unknown, data(1), unknown, TRAILERS, unknown];
  assert.equal(reader.feed(Buffer.concat(parts)), undefined);
  assert.deepEqual([reader.state, reader.end()], ['trailers', undefined]);
});

test('an interim response returns what it has taken from the budget', () => {
  const interim = status(103);
  const budget = new FieldBudget(interim.length - 2);
  const reader = new Http3ResponseReader(budget);
  for (let count = 0; count < 3; count++) assert.equal(reader.feed(interim), undefined);
  assert.equal(errorName(reader.feed(frameHead(0x01, interim.length - 1)))?.slice(0, 6), 'stream');
});

describe('a response on its stream', () => {
  test('is final from status 200 on, and interim below', () => {
    for (const [code, state] of [
      [100, 'header'],
      [199, 'header'],
      [200, 'body'],
      [599, 'body'],
    ] as const) {
      const reader = response();
      assert.equal(reader.feed(status(code)), undefined);
      assert.deepEqual(
        [reader.state, reader.head?.status],
        [state, state === 'body' ? code : undefined],
      );
    }
  });

  test('has interim responses up to the limit before it', () => {
    const reader = response();
    for (let count = 0; count < INTERIM_LIMIT; count++) {
      assert.equal(reader.feed(status(103)), undefined);
    }
    assert.equal(
      errorName(reader.feed(status(103))),
      'connection H3_EXCESSIVE_LOAD: too many interim responses',
    );
  });

  test('may declare the length of a body that it does not have (RFC 9110 §8.6)', () => {
    const reader = response();
    assert.equal(reader.feed(headers({ ':status': '304', 'content-length': '10' })), undefined);
    assert.equal(reader.end(), undefined);
  });

  test('with a malformed head fails (RFC 9114 §4.3.2)', () => {
    assert.match(errorName(response().feed(headers({ x: 'y' }))) ?? '', /^stream H3_MESSAGE_ERROR/);
  });

  test('promises no push, because no push id was allowed (RFC 9114 §7.2.5)', () => {
    assert.equal(
      errorName(response().feed(frame(0x05, Buffer.alloc(3)))),
      'connection H3_ID_ERROR: a push was not allowed',
    );
  });
});
