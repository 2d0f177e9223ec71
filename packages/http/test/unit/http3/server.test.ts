import type { HttpField } from '../../../src/fields/field.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Http3Error, http3ErrorName } from '../../../src/http3/errors.ts';
import { frameHead, varintFrame } from '../../../src/http3/frames.ts';
import { BODY_LIMIT, BUFFERED_FIELDS_LIMIT, FIELD_SECTION_LIMIT } from '../../../src/limits.ts';
import type { Http3Request, Http3Response } from '../../../src/http3/message.ts';
import { decodeHeaderBlock, encodeHeaderBlock } from '../../../src/http3/qpack.ts';
import { Http3Server } from '../../../src/http3/server.ts';
import type { QuicStream } from '@weir/quic';
import {
  FakeConnection,
  type FakeStream,
} from '../../../../../test/support/http/http3/fake-connection.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const frame = (type: number, payload: Uint8Array): Buffer =>
  Buffer.concat([frameHead(type, payload.length), payload]);

/** Fields written as `name value`. */
const fieldsOf = (lines: readonly string[]): HttpField[] =>
  lines.map((line) => {
    const space = line.indexOf(' ', 1);
    return space < 0
      ? { name: line, value: '' }
      : { name: line.slice(0, space), value: line.slice(space + 1) };
  });
const headers = (...lines: string[]): Buffer => frame(0x01, encodeHeaderBlock(fieldsOf(lines)));
const data = (text: string): Buffer => frame(0x00, Buffer.from(text));

const GET = [':method GET', ':scheme https', ':authority example.com', ':path /index.html'];
const POST = [':method POST', ':scheme https', ':authority example.com', ':path /form'];

const SETTINGS = hex('00 04 00');
const NOT_FOUND: Http3Response = {
  status: 404,
  fields: [
    { name: 'content-type', value: 'text/plain' },
    { name: 'content-length', value: '10' },
  ],
  body: Buffer.from('not found\n'),
};

/** A server whose other side is the test. */
class Bench {
  readonly connection = new FakeConnection('server');
  readonly requests: Http3Request[] = [];
  readonly server: Http3Server;
  respond: (request: Http3Request) => Http3Response | Promise<Http3Response> = () => NOT_FOUND;
  takeStream: ((type: number, stream: QuicStream) => boolean) | undefined;
  /** What ends the wait for each request that has not ended. */
  readonly waiting = new Set<() => void>();

  constructor() {
    this.server = new Http3Server(this.connection, {
      respond: (request) => {
        this.requests.push(request);
        return this.respond(request);
      },
      takeStream: (type, stream) => this.takeStream?.(type, stream) ?? false,
      onWaiting: (giveUp) => {
        this.waiting.add(giveUp);
        return () => void this.waiting.delete(giveUp);
      },
    });
  }

  async open(
    kind: 'bidirectional' | 'unidirectional',
    chunks: readonly Uint8Array[],
    isEnd = true,
  ): Promise<FakeStream> {
    const stream = this.connection.peerStream(kind);
    this.server.accept(stream);
    await stream.send(chunks, isEnd);
    return stream;
  }

  request(chunks: readonly Uint8Array[], isEnd = true): Promise<FakeStream> {
    return this.open('bidirectional', chunks, isEnd);
  }

  async closeCode(): Promise<string> {
    return http3ErrorName((await this.connection.closed).code);
  }
}

/** The code of a reset, or the status of the response. */
async function resultOf(stream: FakeStream): Promise<string> {
  const outcome = await stream.outcome;
  if ('reset' in outcome) return http3ErrorName(outcome.reset);
  return readResponse(outcome.written).status;
}

function readResponse(written: Buffer): { status: string; fields: HttpField[]; body: string } {
  assert.equal(written[0], 0x01);
  // Lengths below 64 are one octet.
  const end = 2 + (written[1] ?? 0);
  const section = decodeHeaderBlock(written.subarray(2, end));
  assert.ok(!(section instanceof Http3Error));
  const [status, ...fields] = section;
  assert.equal(status?.name, ':status');
  const rest = written.subarray(end);
  if (rest.length > 0) assert.equal(rest[0], 0x00);
  return { status: status.value, fields, body: rest.subarray(2).toString() };
}

test('a server opens its control stream with SETTINGS, and both QPACK streams', async () => {
  const { connection } = new Bench();
  await new Promise(setImmediate);
  assert.deepEqual(
    connection.opened.map(({ id, written }) => `${id} ${written.toString('hex')}`),
    ['3 00040b0100068000400007000801', '7 02', '11 03'],
  );
});

test('a request gets its response: header section, body, end of stream', async () => {
  const bench = new Bench();
  const stream = await bench.request([headers(...GET, 'user-agent test')]);
  const outcome = await stream.outcome;
  assert.ok('written' in outcome);
  assert.deepEqual(readResponse(outcome.written), {
    status: '404',
    fields: NOT_FOUND.fields,
    body: 'not found\n',
  });
  assert.deepEqual(bench.requests, [
    {
      method: 'GET',
      scheme: 'https',
      authority: 'example.com',
      path: '/index.html',
      fields: [{ name: 'user-agent', value: 'test' }],
    },
  ]);
});

test('a request is answered before its stream ends, when no body is declared', async () => {
  const bench = new Bench();
  assert.equal(await resultOf(await bench.request([headers(...GET)], false)), '404');
});

test('a request in single bytes is the same request', async () => {
  const bench = new Bench();
  const bytes = Buffer.concat([
    hex('4021 03 010203'),
    headers(...POST, 'content-length 3'),
    data('abc'),
  ]);
  const chunks = Array.from(bytes, (byte) => Uint8Array.of(byte));
  assert.equal(await resultOf(await bench.request(chunks)), '404');
});

test('a response to HEAD has its fields and no body', async () => {
  const bench = new Bench();
  const stream = await bench.request([headers(':method HEAD', ...GET.slice(1))]);
  const outcome = await stream.outcome;
  assert.ok('written' in outcome);
  assert.deepEqual(readResponse(outcome.written), {
    status: '404',
    fields: NOT_FOUND.fields,
    body: '',
  });
});

for (const status of [204, 304]) {
  test(`a response with status ${status} has no body`, async () => {
    const bench = new Bench();
    bench.respond = () => ({ ...NOT_FOUND, status });
    const outcome = await (await bench.request([headers(...GET)])).outcome;
    assert.ok('written' in outcome);
    assert.equal(readResponse(outcome.written).body, '');
  });
}

test('a response with an empty body is its header section alone', async () => {
  const bench = new Bench();
  bench.respond = () => ({ status: 200, fields: [], body: Buffer.alloc(0) });
  const outcome = await (await bench.request([headers(...GET)])).outcome;
  assert.ok('written' in outcome);
  assert.deepEqual(outcome.written, headers(':status 200'));
});

test('a declared body is awaited, read and dropped', async () => {
  for (const end of [[data('def')], [data('def'), headers('checksum 1')]]) {
    const bench = new Bench();
    const stream = await bench.request([headers(...POST, 'content-length 6'), data('abc')], false);
    await new Promise(setImmediate);
    assert.equal(bench.requests.length, 0);
    await stream.send(end);
    assert.equal(await resultOf(stream), '404');
  }
});

test('a body that exceeds its declaration is known from the head of its frame', async () => {
  const bench = new Bench();
  const stream = await bench.request(
    [headers(...POST, 'content-length 5'), data('abc'), frameHead(0x00, 3)],
    false,
  );
  assert.equal(await resultOf(stream), 'H3_MESSAGE_ERROR');
});

test('header sections of unfinished requests share a budget, each up to its own limit', async () => {
  const bench = new Bench();
  const open = (size: number): Promise<FakeStream> => bench.request([frameHead(0x01, size)], false);
  assert.equal(await resultOf(await open(FIELD_SECTION_LIMIT + 1)), 'H3_EXCESSIVE_LOAD');
  const most = Math.floor(BUFFERED_FIELDS_LIMIT / FIELD_SECTION_LIMIT);
  const waiting = await Promise.all(Array.from({ length: most }, () => open(FIELD_SECTION_LIMIT)));
  await new Promise(setImmediate);
  assert.equal(await resultOf(await open(FIELD_SECTION_LIMIT)), 'H3_EXCESSIVE_LOAD');
  waiting[0]?.fail(0x10c);
  await new Promise(setImmediate);
  assert.equal(await resultOf(await bench.request([headers(...GET)])), '404');
});

test('a client that sends an endless body is asked to stop after the response', async () => {
  const bench = new Bench();
  const stream = await bench.request([headers(...POST)], false);
  void stream.send([data('x'.repeat(BODY_LIMIT)), data('x')], false);
  assert.equal(await resultOf(stream), '404');
  assert.equal(http3ErrorName(await stream.stopped), 'H3_NO_ERROR');
});

test('a declared body beyond the limit does not delay the response', async () => {
  const bench = new Bench();
  const stream = await bench.request([headers(...POST, 'content-length 1000000')], false);
  void stream.send([frameHead(0x00, 1_000_000), Buffer.alloc(BODY_LIMIT + 1)], false);
  assert.equal(await resultOf(stream), '404');
});

test('trailers, unknown frames and reserved ones are ignored', async () => {
  const bench = new Bench();
  const grease = frame(0x21 + 0x1f * 7, Buffer.from('grease'));
  const stream = await bench.request([
    grease,
    headers(...POST, 'te trailers'),
    grease,
    data('abc'),
    grease,
    headers('checksum 1'),
    grease,
  ]);
  assert.equal(await resultOf(stream), '404');
});

for (const [what, lines, head] of [
  ['a host field and no authority', [...GET.slice(0, 2), ':path /', 'host example.com'], {}],
  ['its authority as a host', [...GET, 'host example.com'], {}],
  ['a content-length that is repeated', [...GET, 'content-length 0', 'content-length 0'], {}],
  ['the asterisk of OPTIONS', [':method OPTIONS', ...GET.slice(1, 3), ':path *'], { path: '*' }],
  // Only http and https need an authority and a path with a slash (RFC 9114 §4.3.1).
  ['another scheme', [':method GET', ':scheme urn', ':path x'], { scheme: 'urn', authority: '' }],
  ['CONNECT', [':method CONNECT', ':authority example.com'], { scheme: '', path: '' }],
] as const) {
  test(`a request with ${what} has the parts that it names, and empty ones for the others`, async () => {
    const bench = new Bench();
    assert.equal(await resultOf(await bench.request([headers(...lines)])), '404');
    const { authority, path, scheme } = { authority: 'example.com', ...bench.requests[0], ...head };
    assert.deepEqual(
      [bench.requests[0]?.authority, bench.requests[0]?.path, bench.requests[0]?.scheme],
      [authority, path, scheme],
    );
  });
}

test('CONNECT and extended CONNECT are requests like others', async () => {
  const bench = new Bench();
  const plain = headers(':method CONNECT', ':authority example.com:443');
  const extended = headers(
    ':method CONNECT',
    ':protocol websocket',
    ':scheme https',
    ':authority example.com',
    ':path /chat',
  );
  assert.equal(await resultOf(await bench.request([plain])), '404');
  assert.equal(await resultOf(await bench.request([extended])), '404');
});

const without = (lines: readonly string[], name: string): string[] =>
  lines.filter((line) => !line.startsWith(name));

/** RFC 9114 §4.1.2, §4.2, §4.3. */
const MALFORMED: Readonly<Record<string, readonly Buffer[]>> = {
  'without a method': [headers(...without(GET, ':method'))],
  'without a scheme': [headers(...without(GET, ':scheme'))],
  'without a path': [headers(...without(GET, ':path'))],
  'without an authority': [headers(...without(GET, ':authority'))],
  'with an empty authority': [headers(...without(GET, ':authority'), ':authority')],
  'with user information': [headers(...without(GET, ':authority'), ':authority a@b')],
  'with an empty path': [headers(...without(GET, ':path'), ':path')],
  'with a relative path': [headers(...without(GET, ':path'), ':path index.html')],
  'with the path of OPTIONS': [headers(...without(GET, ':path'), ':path *')],
  'with OPTIONS of a relative path': [headers(':method OPTIONS', ...GET.slice(1, 3), ':path x')],
  'with a scheme that begins with a digit': [headers(...without(GET, ':scheme'), ':scheme 1a')],
  'with an empty scheme': [headers(...without(GET, ':scheme'), ':scheme')],
  'with another scheme in capitals and no path': [
    headers(...without(GET, ':scheme').slice(0, 2), ':scheme HTTP', ':path x'),
  ],
  'with a method that is no token': [headers(':method G T', ...GET.slice(1))],
  'with a repeated method': [headers(':method GET', ...GET)],
  'with an unknown pseudo-header field': [headers(...GET, ':foo bar')],
  'with a pseudo-header field of responses': [headers(...GET, ':status 200')],
  'with a pseudo-header field after a field': [headers(...GET.slice(1), 'a b', ':method GET')],
  'with :protocol and another method': [headers(...GET, ':protocol websocket')],
  'with a CONNECT that has a path': [headers(':method CONNECT', ...GET.slice(1))],
  'with a CONNECT that has a scheme': [headers(':method CONNECT', ...GET.slice(1, 3))],
  'with a CONNECT without an authority': [headers(':method CONNECT')],
  'with an extended CONNECT without a scheme': [
    headers(':method CONNECT', ':protocol websocket', ...GET.slice(2)),
  ],
  'with a host that is not the authority': [headers(...GET, 'host example.org')],
  'with a repeated host': [headers(...GET, 'host example.com', 'host example.com')],
  'with an uppercase name': [headers(...GET, 'User-Agent test')],
  'with an empty name': [frame(1, encodeHeaderBlock([...fieldsOf(GET), { name: '', value: '' }]))],
  'with a name that is no token': [headers(...GET, 'user(agent test')],
  'with a line end in a value': [headers(...GET, 'a b\r\nc: d')],
  'with a zero octet in a value': [headers(...GET, 'a b\0')],
  'with connection': [headers(...GET, 'connection close')],
  'with keep-alive': [headers(...GET, 'keep-alive 1')],
  'with proxy-connection': [headers(...GET, 'proxy-connection close')],
  'with transfer-encoding': [headers(...GET, 'transfer-encoding chunked')],
  'with upgrade': [headers(...GET, 'upgrade h2c')],
  'with te other than trailers': [headers(...GET, 'te gzip')],
  'with a content-length that is no number': [headers(...POST, 'content-length x')],
  'with an empty content-length': [headers(...POST, 'content-length')],
  'with a content-length with a sign': [headers(...POST, 'content-length +1')],
  'with contradictory content-lengths': [headers(...POST, 'content-length 1', 'content-length 2')],
  'with a body shorter than declared': [headers(...POST, 'content-length 4'), data('abc')],
  'with a body longer than declared': [headers(...POST, 'content-length 2'), data('abc')],
  'with a body where none is declared': [
    Buffer.concat([headers(...POST, 'content-length 0'), data('abc')]),
  ],
  'with a short body before trailers': [
    headers(...POST, 'content-length 4'),
    data('abc'),
    headers('a b'),
  ],
  'with pseudo-header fields in its trailers': [
    Buffer.concat([headers(...POST), headers(':method GET')]),
  ],
};

for (const [what, chunks] of Object.entries(MALFORMED)) {
  test(`a request ${what} is reset with H3_MESSAGE_ERROR, and others go on`, async () => {
    const bench = new Bench();
    const stream = await bench.request(chunks);
    assert.equal(await resultOf(stream), 'H3_MESSAGE_ERROR');
    assert.equal(http3ErrorName(await stream.stopped), 'H3_MESSAGE_ERROR');
    assert.equal(await resultOf(await bench.request([headers(...GET)])), '404');
  });
}

test('a stream that ends before a header section is reset with H3_REQUEST_INCOMPLETE', async () => {
  const bench = new Bench();
  assert.equal(await resultOf(await bench.request([])), 'H3_REQUEST_INCOMPLETE');
  const grease = frame(0x21, Buffer.from('grease'));
  assert.equal(await resultOf(await bench.request([grease])), 'H3_REQUEST_INCOMPLETE');
});

test('a header section beyond the limit resets the request with H3_EXCESSIVE_LOAD', async () => {
  const bench = new Bench();
  const long = headers(...GET, `a ${'\x7e'.repeat(FIELD_SECTION_LIMIT)}`);
  assert.equal(await resultOf(await bench.request([long])), 'H3_EXCESSIVE_LOAD');
  const many = headers(...GET, ...Array.from({ length: 600 }, () => 'age 0'));
  assert.equal(await resultOf(await bench.request([many])), 'H3_EXCESSIVE_LOAD');
  assert.equal(await resultOf(await bench.request([headers(...GET)])), '404');
});

/** What closes the connection when it comes on a request stream (RFC 9114 §4.1, §7). */
const REQUEST_VIOLATIONS: readonly (readonly [string, string, readonly Uint8Array[]])[] = [
  ['DATA before HEADERS', 'H3_FRAME_UNEXPECTED', [data('abc')]],
  [
    'HEADERS after trailers',
    'H3_FRAME_UNEXPECTED',
    [Buffer.concat([headers(...GET), headers('a b'), headers('a b')])],
  ],
  [
    'DATA after trailers',
    'H3_FRAME_UNEXPECTED',
    [Buffer.concat([headers(...GET), headers('a b'), data('abc')])],
  ],
  ['CANCEL_PUSH', 'H3_FRAME_UNEXPECTED', [varintFrame(0x03, 0)]],
  ['SETTINGS', 'H3_FRAME_UNEXPECTED', [frame(0x04, Buffer.alloc(0))]],
  ['PUSH_PROMISE', 'H3_FRAME_UNEXPECTED', [frame(0x05, hex('00 0000'))]],
  ['GOAWAY', 'H3_FRAME_UNEXPECTED', [varintFrame(0x07, 0)]],
  ['MAX_PUSH_ID', 'H3_FRAME_UNEXPECTED', [varintFrame(0x0d, 0)]],
  ...[0x02, 0x06, 0x08, 0x09].map(
    (type) =>
      [`HTTP/2 frame ${type}`, 'H3_FRAME_UNEXPECTED', [frame(type, Buffer.alloc(4))]] as const,
  ),
  ['a truncated frame', 'H3_FRAME_ERROR', [hex('01 10 0000')]],
  ['a truncated frame type', 'H3_FRAME_ERROR', [hex('40')]],
  ['a header block that does not decode', 'QPACK_DECOMPRESSION_FAILED', [frame(0x01, hex('00'))]],
  ['an empty header block', 'QPACK_DECOMPRESSION_FAILED', [frame(0x01, Buffer.alloc(0))]],
  ['a use of the dynamic table', 'QPACK_DECOMPRESSION_FAILED', [frame(0x01, hex('0000 80'))]],
];

for (const [what, code, chunks] of REQUEST_VIOLATIONS) {
  test(`${what} on a request stream closes the connection with ${code}`, async () => {
    const bench = new Bench();
    await bench.request(chunks);
    assert.equal(await bench.closeCode(), code);
  });
}

/** What closes the connection when it comes on a unidirectional stream. */
const CRITICAL_VIOLATIONS: readonly (readonly [string, string, string])[] = [
  ['a control stream without SETTINGS at first', 'H3_MISSING_SETTINGS', '00 07 01 00'],
  ['a control stream with a reserved frame at first', 'H3_MISSING_SETTINGS', '00 21 00'],
  ['a second SETTINGS', 'H3_FRAME_UNEXPECTED', '00 0400 0400'],
  ['DATA on the control stream', 'H3_FRAME_UNEXPECTED', '00 0400 0000'],
  ['HEADERS on the control stream', 'H3_FRAME_UNEXPECTED', '00 0400 0100'],
  ['PUSH_PROMISE on the control stream', 'H3_FRAME_UNEXPECTED', '00 0400 0500'],
  ['a frame of HTTP/2 on the control stream', 'H3_FRAME_UNEXPECTED', '00 0400 0200'],
  ['a setting of HTTP/2', 'H3_SETTINGS_ERROR', '00 0402 0301'],
  ['a repeated setting', 'H3_SETTINGS_ERROR', '00 0404 06010601'],
  ['a truncated setting', 'H3_FRAME_ERROR', '00 0401 06'],
  ['endless SETTINGS', 'H3_EXCESSIVE_LOAD', '00 04 5001'],
  ['CANCEL_PUSH of a push that was not promised', 'H3_ID_ERROR', '00 0400 0301 00'],
  ['MAX_PUSH_ID that is reduced', 'H3_ID_ERROR', '00 0400 0d01 05 0d01 04'],
  ['GOAWAY that is raised', 'H3_ID_ERROR', '00 0400 0701 04 0701 08'],
  ['GOAWAY without an id', 'H3_FRAME_ERROR', '00 0400 0700'],
  ['GOAWAY with more than an id', 'H3_FRAME_ERROR', '00 0400 0702 0000'],
  ['GOAWAY with a truncated id', 'H3_FRAME_ERROR', '00 0400 0701 40'],
  ['GOAWAY with an integer longer than any', 'H3_FRAME_ERROR', '00 0400 0709'],
  ['CANCEL_PUSH without an id', 'H3_FRAME_ERROR', '00 0400 0300'],
  ['CANCEL_PUSH with several', 'H3_FRAME_ERROR', '00 0400 0304 00000000'],
  ['endless CANCEL_PUSH', 'H3_FRAME_ERROR', '00 0400 0380 010000'],
  ['GOAWAY that is raised to the highest', 'H3_ID_ERROR', '00 0400 0701 04 0708 fffffffffffffffc'],
  ['a flag of another value', 'H3_SETTINGS_ERROR', '00 0402 3302'],
  ['the end of the control stream', 'H3_CLOSED_CRITICAL_STREAM', '00 0400'],
  ['the end of the encoder stream', 'H3_CLOSED_CRITICAL_STREAM', '02'],
  ['the end of the decoder stream', 'H3_CLOSED_CRITICAL_STREAM', '03'],
  ['a push stream', 'H3_STREAM_CREATION_ERROR', '01 00'],
  ['a capacity above the limit (RFC 9204 B.2)', 'QPACK_ENCODER_STREAM_ERROR', '02 3fbd01'],
  ['an insertion', 'QPACK_ENCODER_STREAM_ERROR', '02 c0 0f'],
  ['an insertion with a literal name', 'QPACK_ENCODER_STREAM_ERROR', '02 4a'],
  ['a duplication', 'QPACK_ENCODER_STREAM_ERROR', '02 02'],
  ['any other capacity', 'QPACK_ENCODER_STREAM_ERROR', '02 20 3e'],
  ['a capacity above 2^53', 'QPACK_ENCODER_STREAM_ERROR', '02 3f e0ffffffffffff0f'],
  ['the id of a stream above 2^53', 'QPACK_DECODER_STREAM_ERROR', '03 44 7f c1ffffffffffff0f'],
  ['an acknowledgement behind others', 'QPACK_DECODER_STREAM_ERROR', '03 7f00 40 01'],
  ['a section acknowledgement (RFC 9204 B.2)', 'QPACK_DECODER_STREAM_ERROR', '03 84'],
  ['an insert count increment (RFC 9204 B.3)', 'QPACK_DECODER_STREAM_ERROR', '03 01'],
];

for (const [what, code, bytes] of CRITICAL_VIOLATIONS) {
  test(`${what} closes the connection with ${code}`, async () => {
    for (const chunks of [[hex(bytes)], Array.from(hex(bytes), (byte) => Uint8Array.of(byte))]) {
      const bench = new Bench();
      await bench.open('unidirectional', chunks);
      assert.equal(await bench.closeCode(), code);
    }
  });
}

for (const [name, bytes] of [
  ['control', '00 0400'],
  ['QPACK encoder', '02'],
  ['QPACK decoder', '03'],
] as const) {
  test(`a second ${name} stream closes the connection with H3_STREAM_CREATION_ERROR`, async () => {
    const bench = new Bench();
    await bench.open('unidirectional', [hex(bytes)], false);
    await bench.open('unidirectional', [hex(bytes)], false);
    assert.equal(await bench.closeCode(), 'H3_STREAM_CREATION_ERROR');
    assert.equal((await bench.connection.closed).reason, `a second ${name} stream`);
  });

  test(`a reset of the ${name} stream closes the connection with H3_CLOSED_CRITICAL_STREAM`, async () => {
    const bench = new Bench();
    const stream = await bench.open('unidirectional', [hex(bytes)], false);
    await new Promise(setImmediate);
    stream.fail(0x100);
    assert.equal(await bench.closeCode(), 'H3_CLOSED_CRITICAL_STREAM');
    assert.equal((await bench.connection.closed).reason, `the ${name} stream was closed`);
  });
}

test('a client that stops one of our critical streams gets H3_CLOSED_CRITICAL_STREAM', async () => {
  const bench = new Bench();
  await new Promise(setImmediate);
  bench.connection.opened[1]?.fail(0x100);
  assert.equal(await bench.closeCode(), 'H3_CLOSED_CRITICAL_STREAM');
  assert.equal((await bench.connection.closed).reason, 'a critical stream was stopped');
});

test('a connection that another protocol uses outlives its critical streams', async () => {
  const bench = new Bench();
  const streams = [];
  for (const bytes of ['00 0400', '02', '03']) {
    streams.push(await bench.open('unidirectional', [hex(bytes)], false));
  }
  await new Promise(setImmediate);
  bench.server.release();
  await streams[0]?.peer.closeWrite();
  streams[1]?.fail(0x100);
  streams[2]?.fail(0x100);
  bench.connection.opened[1]?.fail(0x100);
  await new Promise(setImmediate);
  await bench.open('unidirectional', [hex('00 0400')], false);
  assert.equal(await bench.closeCode(), 'H3_STREAM_CREATION_ERROR', 'other rules hold');
});

test('what is valid on critical streams changes nothing', async () => {
  const bench = new Bench();
  const control = '00 0404 0601 4021 00'; // SETTINGS, the second a reserved one
  const highest = '0708 fffffffffffffffc';
  const goAways = `${highest} ${highest} 0701 08 0702 4008 0701 03 0701 00`;
  const pushes = ['21 02 aabb', '0d 01 08', '0d 01 08', '0d 02 4009', '2100', '4040 01 dd'].map(
    hex,
  );
  await bench.open('unidirectional', [hex(control), ...pushes, hex(goAways)], false);
  // Types of streams may have more octets than they need.
  await bench.open('unidirectional', [hex('c000000000000002'), hex('20'), hex('20')], false);
  await bench.open(
    'unidirectional',
    [hex('03'), hex('44 7f'), hex('05 7f c0ffffffffffff0f')],
    false,
  );
  assert.equal(await resultOf(await bench.request([headers(...GET)])), '404');
});

test('a stream of unknown type is refused, and others go on', async () => {
  const bench = new Bench();
  const stream = await bench.open('unidirectional', [hex('40 54 aabb')], false);
  assert.equal(http3ErrorName(await stream.stopped), 'H3_STREAM_CREATION_ERROR');
  assert.equal(await resultOf(await bench.request([headers(...GET)])), '404');
});

test('a unidirectional stream that ends or is reset before its type is known is ignored', async () => {
  const bench = new Bench();
  await bench.open('unidirectional', []);
  await bench.open('unidirectional', [hex('40')]);
  (await bench.open('unidirectional', [hex('40')], false)).fail(0x100);
  assert.equal(await resultOf(await bench.request([headers(...GET)])), '404');
});

test('a request whose client resets it is over, and others go on', async () => {
  const bench = new Bench();
  const stream = await bench.request([hex('01 20 0000')], false);
  await new Promise(setImmediate);
  stream.fail(0x10c);
  assert.equal(await resultOf(stream), 'H3_REQUEST_CANCELLED');
  assert.equal(await resultOf(await bench.request([headers(...GET)])), '404');
});

test('a stream that the protocol above takes over continues behind its first integer', async () => {
  const bench = new Bench();
  const taken = Promise.withResolvers<QuicStream>();
  bench.takeStream = (type, stream) => {
    if (type !== 0x401) return false;
    taken.resolve(stream);
    return true;
  };
  for (const chunks of [[hex('4401 0102')], [hex('44'), hex('01'), hex('0102')]]) {
    await bench.request(chunks);
  }
  const stream = await taken.promise;
  assert.deepEqual(Buffer.from((await stream.read()) ?? []).toString('hex'), '0102');
  assert.equal(await resultOf(await bench.request([headers(...GET)])), '404');
});

test('a stream that is not taken over is a request stream with a frame of unknown type', async () => {
  const bench = new Bench();
  assert.equal(await resultOf(await bench.request([hex('4401 01 02')])), 'H3_REQUEST_INCOMPLETE');
});

test('after GOAWAY new requests are rejected, and those before it are served', async () => {
  const bench = new Bench();
  const before = await bench.request([headers(...POST, 'content-length 3')], false);
  await new Promise(setImmediate);
  bench.server.goAway();
  bench.server.goAway();
  const control = bench.connection.opened[0]?.written.toString('hex');
  assert.equal(control, '00040b0100068000400007000801070104');
  const after = await bench.request([headers(...GET)]);
  assert.equal(await resultOf(after), 'H3_REQUEST_REJECTED');
  await before.send([data('abc')]);
  assert.equal(await resultOf(before), '404');
});

test('GOAWAY after the end of the connection is of no consequence', async () => {
  const bench = new Bench();
  await new Promise(setImmediate);
  for (const stream of bench.connection.opened) stream.destroy(new Error('closed'));
  bench.server.goAway();
  await new Promise(setImmediate);
});

test('GOAWAY waits for the control stream, behind SETTINGS', async () => {
  const bench = new Bench();
  bench.server.goAway();
  await new Promise(setImmediate);
  const written = bench.connection.opened[0]?.written.toString('hex');
  assert.equal(written, '00040b0100068000400007000801070100');
});

test('a response that fails resets the request, and others go on', async () => {
  const bench = new Bench();
  bench.respond = () => Promise.reject(new Error('no response'));
  assert.equal(await resultOf(await bench.request([headers(...GET)])), 'H3_INTERNAL_ERROR');
  bench.respond = () => NOT_FOUND;
  assert.equal(await resultOf(await bench.request([headers(...GET)])), '404');
});

for (const [name, first, endless, invalid, code] of [
  ['control', '00 04 00', '21 00', '02 00', 'H3_FRAME_UNEXPECTED'],
  ['QPACK encoder', '02', '20', '80', 'QPACK_ENCODER_STREAM_ERROR'],
  ['QPACK decoder', '03', '40', '80', 'QPACK_DECODER_STREAM_ERROR'],
] as const) {
  test(`a ${name} stream with much to skip is read in turns, to its end`, async () => {
    const bench = new Bench();
    let turns = 0;
    const count = (): void => {
      turns++;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    // As large as reads of a QUIC stream.
    const flood = Buffer.alloc(64 << 10, hex(endless));
    await bench.open('unidirectional', [hex(first), ...Array(8).fill(flood), hex(invalid)], false);
    assert.equal(http3ErrorName((await bench.connection.closed).code), code);
    clearImmediate(next);
    assert.ok(turns >= 8, `${turns} turns`);
  });
}

test('a control stream in single bytes is the same control stream', async () => {
  const bench = new Bench();
  const bytes = Buffer.concat([SETTINGS, hex('4021 02 0000'), hex('0d 02 4005'), hex('0d 01 04')]);
  const chunks = Array.from(bytes, (byte) => Uint8Array.of(byte));
  await bench.open('unidirectional', chunks, false);
  assert.equal(await bench.closeCode(), 'H3_ID_ERROR');
});

test('an interim response precedes the final one (RFC 9114 §4.1)', async () => {
  const bench = new Bench();
  bench.respond = () => ({ ...NOT_FOUND, interim: 103 });
  const stream = await bench.request([headers(...GET)]);
  const outcome = await stream.outcome;
  assert.ok('written' in outcome);
  const expected = [
    headers(':status 103'),
    headers(':status 404', 'content-type text/plain', 'content-length 10'),
    data('not found\n'),
  ];
  assert.deepEqual(outcome.written, Buffer.concat(expected));
});

test('a request is waited for until it has ended, and a stream that is taken over no longer', async () => {
  const bench = new Bench();
  bench.takeStream = (type) => type === 0x401;
  const nothing = bench.connection.peerStream('bidirectional');
  bench.server.accept(nothing);
  const head = await bench.request([headers(...POST, 'content-length 5')], false);
  const whole = await bench.request([headers(...GET)], false);
  assert.deepEqual(await resultOf(whole), '404');
  await bench.request([hex('4401')], false);
  assert.equal(bench.waiting.size, 3);
  await nothing.send([]);
  await head.send([data('12345')]);
  await whole.send([]);
  assert.deepEqual(await resultOf(head), '404');
  assert.equal(bench.waiting.size, 0);
});

test('a server that takes no stream over and limits no wait serves the same requests', async () => {
  const connection = new FakeConnection('server');
  const server = new Http3Server(connection, { respond: () => NOT_FOUND });
  for (const [chunks, expected] of [
    [[headers(...GET)], '404'],
    [[headers(...POST, 'content-length 3'), data('abc')], '404'],
    [[hex('4401 00')], 'H3_REQUEST_INCOMPLETE'],
  ] as const) {
    const stream = connection.peerStream('bidirectional');
    server.accept(stream);
    await stream.send(chunks, true);
    assert.equal(await resultOf(stream), expected);
  }
});

test('a request that is given up is rejected, or gets its response when its head is complete', async () => {
  const bench = new Bench();
  const streams = [
    await bench.request([hex('44')], false),
    await bench.request([headers(...GET).subarray(0, 9)], false),
    await bench.request([headers(...POST, 'content-length 5'), data('123')], false),
  ];
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(bench.waiting.size, 3);
  for (const giveUp of bench.waiting) giveUp();
  const results = await Promise.all(streams.map(resultOf));
  assert.deepEqual(results, ['H3_REQUEST_REJECTED', 'H3_REQUEST_REJECTED', '404']);
  assert.equal(http3ErrorName(await (streams[2] as FakeStream).stopped), 'H3_NO_ERROR');
  assert.equal(bench.waiting.size, 0);
  assert.equal(bench.requests.length, 1);
});
