import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Http3Client } from '../../../src/http3/client.ts';
import { http3ErrorName } from '../../../src/http3/errors.ts';
import { frameHead, varintFrame } from '../../../src/http3/frames.ts';
import { BODY_LIMIT, BUFFERED_FIELDS_LIMIT, INTERIM_LIMIT } from '../../../src/limits.ts';
import { encodeHeaderBlock } from '../../../src/http3/qpack.ts';
import { ProtocolError } from '@weir/io';
import {
  FakeConnection,
  type FakeStream,
} from '../../../../../test/support/http/http3/fake-connection.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const frame = (type: number, payload: Uint8Array): Buffer =>
  Buffer.concat([frameHead(type, payload.length), payload]);
const headers = (...fields: readonly (readonly [string, string])[]): Buffer =>
  frame(0x01, encodeHeaderBlock(fields.map(([name, value]) => ({ name, value }))));

const REQUEST = {
  method: 'POST',
  scheme: 'https',
  authority: 'hysteria',
  path: '/auth',
  fields: [{ name: 'content-length', value: '0' }],
};
const FINAL = headers([':status', '233'], ['hysteria-udp', 'true']);

/** A client that has sent its request, the stream of which the test is the other end. */
async function requested(signal?: AbortSignal) {
  const connection = new FakeConnection('client');
  const client = new Http3Client(connection);
  const response = client.request(REQUEST, signal);
  response.catch(() => undefined);
  await new Promise(setImmediate);
  const stream = connection.opened.find(({ bidirectional }) => bidirectional) as FakeStream;
  return { connection, client, response, stream };
}

const closeCode = async (connection: FakeConnection): Promise<string> =>
  http3ErrorName((await connection.closed).code);

test('a client opens only its control stream, as clients of the reference do', async () => {
  const { connection, stream } = await requested();
  assert.deepEqual(
    connection.opened.map(({ id, written }) => [id, written.toString('hex')]),
    [
      [2, '000409010006800040000700'],
      [0, stream.written.toString('hex')],
    ],
  );
  assert.deepEqual(await stream.outcome, { written: stream.written });
});

test('a request has its pseudo-header fields in the order of the reference', async () => {
  const { stream } = await requested();
  assert.equal(stream.written.toString('hex'), '0113000050869fd2125b0c3fd451846076a67fd7c4');
});

test('the head of the response is returned before the stream ends', async () => {
  const { stream, response } = await requested();
  await stream.send([FINAL], false);
  assert.deepEqual(await response, {
    status: 233,
    fields: [{ name: 'hysteria-udp', value: 'true' }],
  });
});

test('interim responses up to a limit, and frames of unknown types, are ignored', async () => {
  const { stream, response } = await requested();
  const interim = Array.from({ length: INTERIM_LIMIT - 1 }, () => headers([':status', '199']));
  const unknown = frame(0x21, Buffer.from('grease'));
  await stream.send([...interim, unknown, headers([':status', '103'], ['link', 'x']), FINAL]);
  assert.equal((await response).status, 233);
});

test('a response may declare the length of a body that it does not have (RFC 9110 §8.6)', async () => {
  const { connection, stream, response } = await requested();
  let isClosed = false;
  void connection.closed.then(() => (isClosed = true));
  await stream.send([headers([':status', '304'], ['content-length', '10'])]);
  assert.equal((await response).status, 304);
  await new Promise(setImmediate);
  assert.equal(isClosed, false);
});

test('what follows the head of a response is checked, though it is dropped', async () => {
  for (const [rest, isEnd, code] of [
    [varintFrame(0x07, 0), false, 'H3_FRAME_UNEXPECTED'],
    [frameHead(0x00, 5), true, 'H3_FRAME_ERROR'],
  ] as const) {
    const { connection, stream, response } = await requested();
    await stream.send([FINAL], false);
    assert.equal((await response).status, 233);
    await stream.send([rest], isEnd);
    assert.equal(await closeCode(connection), code);
  }
});

test('endless interim responses close the connection with H3_EXCESSIVE_LOAD', async () => {
  const { connection, stream, response } = await requested();
  await stream.send(Array.from({ length: INTERIM_LIMIT + 1 }, () => headers([':status', '100'])));
  await assert.rejects(response, ProtocolError);
  assert.equal(await closeCode(connection), 'H3_EXCESSIVE_LOAD');
});

test('a body is dropped, and an endless one stopped', async () => {
  const { stream, response } = await requested();
  await stream.send([FINAL, frameHead(0x00, 10 * BODY_LIMIT)], false);
  assert.equal((await response).status, 233);
  void stream.send([Buffer.alloc(BODY_LIMIT + 1)], false);
  assert.equal(http3ErrorName(await stream.stopped), 'H3_REQUEST_CANCELLED');
});

test('frames of unknown types without end instead of a header section are an error', async () => {
  const empty = Buffer.alloc(BODY_LIMIT + 2);
  for (let at = 0; at < empty.length; at += 2) empty[at] = 0x21;
  const { stream, response } = await requested();
  void stream.send([empty], false);
  await assert.rejects(response, {
    name: ProtocolError.name,
    message: /too many frames before a header section \(H3_EXCESSIVE_LOAD\)/,
  });
});

test('nor are they or empty DATA read without end after it', async () => {
  for (const type of [0x00, 0x21]) {
    const { stream, response } = await requested();
    await stream.send([FINAL], false);
    await response;
    const empty = Buffer.alloc(BODY_LIMIT + 2);
    for (let at = 0; at < empty.length; at += 2) empty[at] = type;
    void stream.send([empty], false);
    assert.equal(http3ErrorName(await stream.stopped), 'H3_REQUEST_CANCELLED');
  }
});

for (const [what, fields] of [
  ['without a status', [['server', 'x']]],
  ['with a status that is no number', [[':status', '2x3']]],
  ['with a status of two digits', [[':status', '99']]],
  ['with a status of four digits', [[':status', '2000']]],
  [
    'with a repeated status',
    [
      [':status', '200'],
      [':status', '200'],
    ],
  ],
  ['with status 101', [[':status', '101']]],
  [
    'with a pseudo-header field of requests',
    [
      [':status', '200'],
      [':path', '/'],
    ],
  ],
  [
    'with a connection field',
    [
      [':status', '200'],
      ['connection', 'close'],
    ],
  ],
] as const) {
  test(`a response ${what} resets the request with H3_MESSAGE_ERROR`, async () => {
    const { stream, response } = await requested();
    await stream.send([headers(...fields)]);
    await assert.rejects(response, /H3_MESSAGE_ERROR/);
    assert.equal(http3ErrorName(await stream.stopped), 'H3_MESSAGE_ERROR');
  });
}

for (const [what, code, bytes] of [
  ['no response', 'H3_REQUEST_INCOMPLETE', hex('')],
  ['DATA at first', 'H3_FRAME_UNEXPECTED', hex('00 01 00')],
  ['PUSH_PROMISE', 'H3_ID_ERROR', hex('05 03 00 0000')],
  ['a truncated frame', 'H3_FRAME_ERROR', hex('01 10 00')],
  ['a use of the dynamic table', 'QPACK_DECOMPRESSION_FAILED', hex('01 03 0000 80')],
] as const) {
  test(`${what} in place of a response fails the request with ${code}`, async () => {
    const { stream, response } = await requested();
    await stream.send([bytes]);
    await assert.rejects(
      response,
      (error) => error instanceof ProtocolError && error.message.includes(`(${code})`),
    );
  });
}

test('a reset stream fails the request with its cause', async () => {
  const { stream, response } = await requested();
  stream.fail(0x107);
  await assert.rejects(response, { message: 'the stream was reset' });
});

test('an aborted request is reset with H3_REQUEST_CANCELLED', async () => {
  const controller = new AbortController();
  const { stream, response } = await requested(controller.signal);
  controller.abort(new Error('too late'));
  await assert.rejects(response, { message: 'too late' });
  assert.equal(http3ErrorName(await stream.stopped), 'H3_REQUEST_CANCELLED');
});

test('a bidirectional stream of a server closes the connection with H3_STREAM_CREATION_ERROR', async () => {
  const { connection, client } = await requested();
  client.accept(connection.peerStream('bidirectional'));
  assert.equal(await closeCode(connection), 'H3_STREAM_CREATION_ERROR');
});

for (const [what, code, bytes] of [
  ['a push stream', 'H3_ID_ERROR', hex('01 00')],
  ['MAX_PUSH_ID', 'H3_FRAME_UNEXPECTED', hex('00 0400 0d01 00')],
  ['CANCEL_PUSH', 'H3_ID_ERROR', hex('00 0400 0301 00')],
  ...['01', '02', '03'].map(
    (id) =>
      [`GOAWAY with the id ${id} of no request`, 'H3_ID_ERROR', hex(`00 0400 0701 ${id}`)] as const,
  ),
  ['a control stream without SETTINGS', 'H3_MISSING_SETTINGS', hex('00 0701 00')],
  ['SETTINGS of HTTP/2', 'H3_SETTINGS_ERROR', hex('00 0402 0301')],
] as const) {
  test(`${what} from a server closes the connection with ${code}`, async () => {
    const { connection, client } = await requested();
    const stream = connection.peerStream('unidirectional');
    client.accept(stream);
    await stream.send([bytes], false);
    assert.equal(await closeCode(connection), code);
  });
}

test('a connection that another protocol uses outlives the critical streams of its server', async () => {
  const { connection, client, stream, response } = await requested();
  client.release();
  const control = connection.peerStream('unidirectional');
  client.accept(control);
  await control.send([hex('00 0400')]);
  await new Promise(setImmediate);
  await stream.send([FINAL]);
  assert.equal((await response).status, 233);
  const second = connection.peerStream('unidirectional');
  client.accept(second);
  await second.send([hex('00 0400')], false);
  assert.equal(await closeCode(connection), 'H3_STREAM_CREATION_ERROR');
});

test('a GOAWAY may begin at the highest id and fall', async () => {
  const { connection, client, stream, response } = await requested();
  const control = connection.peerStream('unidirectional');
  client.accept(control);
  const highest = hex('0708 fffffffffffffffc');
  await control.send([hex('00 0400'), highest, highest, varintFrame(0x07, 4)], false);
  await stream.send([FINAL]);
  assert.equal((await response).status, 233);
});

test('a response that has ended returns what its head took, so that any number may follow', async () => {
  const connection = new FakeConnection('client');
  const client = new Http3Client(connection);
  const head = headers([':status', '200'], ['x', '~'.repeat(10_000)]);
  const count = Math.ceil(BUFFERED_FIELDS_LIMIT / head.length) + 1;
  for (let round = 0; round < count; round++) {
    const response = client.request(REQUEST);
    await new Promise(setImmediate);
    const stream = connection.opened.at(-1) as FakeStream;
    await stream.send([head]);
    assert.equal((await response).status, 200);
    await new Promise(setImmediate);
  }
});
