import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as http2 from 'node:http2';
import { test } from 'node:test';
import type { ByteLink } from '@weir/io/links';
import { encodeHunks } from '../../../../src/transports/grpc/hunks.ts';
import { KEPT_BYTES } from '../../../../src/transports/grpc/repeatable-link.ts';
import { readAll } from '../../../../../io/test/conformance/byte-link.ts';
import { Http2Server } from '../../../../../../test/support/peers/http2-server.ts';

const never = new AbortController().signal;

/** A tunnel that is open, so that the connection and its limits are known to the client. */
async function opened(server: Http2Server) {
  const dialer = server.dialer();
  const { link } = await dialer.dial({ signal: never });
  const stream = await server.stream(0);
  stream.respond({ ':status': 200 });
  stream.write(Buffer.concat(encodeHunks(Buffer.from('open'))));
  assert.equal(String(await link.read()), 'open');
  return { dialer, link, stream };
}

/** Echoes one call from its first byte to its end. */
function echo(stream: http2.ServerHttp2Stream): void {
  stream.respond({ ':status': 200 });
  stream.pipe(stream);
}

const refuse = (stream: http2.ServerHttp2Stream): void =>
  stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);

const text = async (link: ByteLink): Promise<string> => String(await readAll(link));

test('a call that crosses a GOAWAY is made again on another connection, with all that was sent', async () => {
  await using server = await Http2Server.open();
  const { dialer, link: first, stream } = await opened(server);
  server.sessions[0]?.close();
  // Sent before the GOAWAY has been read.
  const { link } = await dialer.dial({ signal: never });
  await link.write(Buffer.from('one '));
  await link.writeOutput([Buffer.from('two '), Buffer.from('three')]);
  await link.closeWrite();
  echo(await server.stream(1));
  assert.equal(await text(link), 'one two three');
  assert.equal(await link.closed, undefined);
  assert.equal(server.sessions.length, 2);
  // The other call goes on where it was.
  stream.end(Buffer.concat(encodeHunks(Buffer.from('still'))));
  assert.equal(await text(first), 'still');
  dialer.close();
});

test('a call that is refused is made again, while its reader and its writer wait', async () => {
  await using server = await Http2Server.open();
  const { dialer } = await opened(server);
  const { link } = await dialer.dial({ signal: never });
  const reading = link.read();
  await link.write(Buffer.from('before '));
  refuse(await server.stream(1));
  await once(server.server, 'session');
  const writing = link.write(Buffer.from('after'));
  const repeated = await server.stream(2);
  echo(repeated);
  await writing;
  const chunks = [await reading];
  await link.closeWrite();
  for (let next = await link.read(); next; next = await link.read()) chunks.push(next);
  assert.equal(
    Buffer.concat(chunks.map((chunk) => chunk ?? Buffer.alloc(0))).toString(),
    'before after',
  );
  assert.notEqual(repeated.session, server.sessions[0]);
  dialer.close();
});

test('its carrier counts the bytes of all calls', async () => {
  await using server = await Http2Server.open();
  const { dialer } = await opened(server);
  const { link, wire } = await dialer.dial({ signal: never });
  await link.write(Buffer.alloc(1000));
  refuse(await server.stream(1));
  const repeated = await server.stream(2);
  echo(repeated);
  await link.read();
  assert.ok(wire.bytesWritten >= 2000, `${wire.bytesWritten} bytes`);
  assert.ok(wire.bytesRead >= 1000, `${wire.bytesRead} bytes`);
  dialer.close();
});

test('a server that refuses every call fails the tunnel after three', async () => {
  await using server = await Http2Server.open();
  server.server.on('stream', refuse);
  const dialer = server.dialer();
  const { link } = await dialer.dial({ signal: never });
  await assert.rejects(link.read(), /REFUSED_STREAM|reset the tunnel/);
  assert.ok(await link.closed);
  assert.equal(server.streams.length, 3);
  dialer.close();
});

test('a call that has had its response is not made again', async () => {
  await using server = await Http2Server.open();
  const { dialer } = await opened(server);
  const { link } = await dialer.dial({ signal: never });
  const stream = await server.stream(1);
  stream.respond({ ':status': 200 });
  stream.write(Buffer.concat(encodeHunks(Buffer.from('x'))));
  assert.equal(String(await link.read()), 'x');
  refuse(stream);
  // Node's server ends the stream before it resets it.
  assert.equal(await link.read(), undefined);
  assert.equal(server.streams.length, 2);
  dialer.close();
});

test('a call that was reset for another reason is not made again', async () => {
  await using server = await Http2Server.open();
  const { dialer } = await opened(server);
  const { link } = await dialer.dial({ signal: never });
  (await server.stream(1)).close(http2.constants.NGHTTP2_CANCEL);
  await assert.rejects(link.read());
  assert.equal(server.streams.length, 2);
  dialer.close();
});

test('a call of which more was sent than is kept is not made again', async () => {
  await using server = await Http2Server.open();
  const { dialer } = await opened(server);
  const { link } = await dialer.dial({ signal: never });
  await link.write(Buffer.alloc(KEPT_BYTES));
  await link.write(Buffer.from('!'));
  refuse(await server.stream(1));
  await assert.rejects(link.read());
  await assert.rejects(async () => link.write(Buffer.from('more')));
  assert.ok(await link.closed);
  assert.equal(server.streams.length, 2);
  dialer.close();
});

test('a link that is destroyed while its call is made again is closed, and the call is not made', async () => {
  await using server = await Http2Server.open();
  const { dialer } = await opened(server);
  const { link } = await dialer.dial({ signal: never });
  const cause = new Error('enough');
  const reading = assert.rejects(link.read(), cause);
  refuse(await server.stream(1));
  await once(server.server, 'connection');
  link.destroy(cause);
  await reading;
  assert.equal(await link.closed, cause);
  await assert.rejects(async () => link.write(Buffer.from('x')));
  dialer.close();
  assert.equal(server.streams.length, 2);
});

test('a read of an unanswered call can be aborted, and the call goes on', async () => {
  await using server = await Http2Server.open();
  const { dialer } = await opened(server);
  const { link } = await dialer.dial({ signal: never });
  const abort = new AbortController();
  const reading = assert.rejects(link.read(abort.signal), /enough/);
  abort.abort(new Error('enough'));
  await reading;
  await link.write(Buffer.from('hello'));
  await link.closeWrite();
  echo(await server.stream(1));
  assert.equal(await text(link), 'hello');
  dialer.close();
});

test('what is written after the end of an unanswered call is rejected, and not sent with its repetition', async () => {
  await using server = await Http2Server.open();
  const { dialer } = await opened(server);
  const { link } = await dialer.dial({ signal: never });
  await link.write(Buffer.from('all'));
  await link.closeWrite();
  await assert.rejects(async () => link.write(Buffer.from('more')));
  refuse(await server.stream(1));
  echo(await server.stream(2));
  assert.equal(await text(link), 'all');
  dialer.close();
});
