import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as tls from 'node:tls';
import { systemClock } from '@weir/io/time';
import { SocketLink } from '@weir/io/sockets';
import { streamTls } from '@weir/io/tls';
import {
  type AlpnChoice,
  decodeProtocols,
  encodeProtocols,
} from '../../../../../io/src/platform/quic-tls/quic-tls-library.ts';
import { OpensslClient, OpensslServer } from '../../../../src/transports/tls/openssl.ts';
import { TLS_CLIENT, TLS_SERVER } from '../../../../../../test/support/links/carriers.ts';
import { loopbackSockets } from '../../../../../../test/support/links/loopback-sockets.ts';
import { onlyHttp1, onlyHttp2, preferHttp1 } from '../../../../src/transports/acceptor.ts';

const probe = streamTls();
if (probe.kind === 'unavailable') throw new Error(probe.reason);
const { library } = probe;

/** What a client of Node's sees of a server that chooses by `choose`. */
async function negotiate(choose: AlpnChoice, offered: readonly string[]): Promise<unknown> {
  const server = new OpensslServer(library, TLS_SERVER, choose, systemClock);
  const [near, far] = await loopbackSockets();
  const accepted = server.accept(new SocketLink(far)).then(
    (link) => link.destroy(),
    (error: Error) => error.message,
  );
  const client = tls.connect({
    socket: near,
    rejectUnauthorized: false,
    ...(offered.length > 0 ? { ALPNProtocols: [...offered] } : {}),
  });
  const seen = await new Promise<unknown>((resolve) => {
    client.once('secureConnect', () => resolve(client.alpnProtocol));
    client.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  const failure = await accepted;
  client.destroy();
  return [seen, failure];
}

const REFUSED = 'TLS: the peer offers no supported application protocol';
const ALERT = 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL';
for (const [name, choose, offered, expected] of [
  ['prefers HTTP/1.1', preferHttp1, ['h2', 'http/1.1', 'x'], ['http/1.1', undefined]],
  ['takes HTTP/2 of others', preferHttp1, ['x', 'h2'], ['h2', undefined]],
  ['rejects protocols without HTTP', preferHttp1, ['x', 'ftp', 'h3'], [ALERT, REFUSED]],
  ['takes a client without ALPN', preferHttp1, [], [false, undefined]],
  ['takes only HTTP/1.1', onlyHttp1, ['h2', 'http/1.1'], ['http/1.1', undefined]],
  ['takes an older HTTP/1', onlyHttp1, ['h2', 'http/0.9', 'http/1.0'], ['http/1.0', undefined]],
  ['rejects all but HTTP/1', onlyHttp1, ['h2', 'h2c'], [ALERT, REFUSED]],
  ['takes only HTTP/2', onlyHttp2, ['http/1.1', 'h2'], ['h2', undefined]],
  ['takes HTTP/2 or a client without ALPN', onlyHttp2, [], [false, undefined]],
  ['rejects all but HTTP/2', onlyHttp2, ['http/1.1', 'h2c', 'h'], [ALERT, REFUSED]],
] as const) {
  test(`a server by OpenSSL ${name}`, async () => {
    assert.deepEqual(await negotiate(choose, offered), expected);
  });
}

for (const offered of [[], ['http/1.1'], ['h2'], ['h2', 'http/1.1']]) {
  test(`a client by OpenSSL offers [${offered.join()}]`, async () => {
    const client = new OpensslClient(library, TLS_CLIENT, offered, systemClock);
    const seen = Promise.withResolvers<readonly string[]>();
    const server = tls.createServer({
      cert: TLS_SERVER.certificates,
      key: TLS_SERVER.key,
      ALPNCallback: ({ protocols }) => {
        seen.resolve(protocols);
        return protocols[0];
      },
    });
    server.on('secureConnection', () => seen.resolve([]));
    const [near, far] = await loopbackSockets();
    server.emit('connection', far);
    const where = { host: 'server.test', port: 443 };
    const link = await client.connect(new SocketLink(near), where, new AbortController().signal);
    assert.deepEqual(await seen.promise, offered);
    link.destroy();
  });
}

test('a list of protocols is read as it was written, and a cut one to its end', () => {
  const list = encodeProtocols(['h2', 'http/1.1']);
  assert.deepEqual(decodeProtocols(list), { names: ['h2', 'http/1.1'], positions: [1, 4] });
  assert.deepEqual(decodeProtocols(list.subarray(0, 6)).names, ['h2', 'ht']);
  assert.deepEqual(decodeProtocols(Buffer.alloc(3)).names, ['', '', '']);
});
