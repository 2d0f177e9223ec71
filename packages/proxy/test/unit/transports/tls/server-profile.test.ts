import assert from 'node:assert/strict';
import { constants } from 'node:crypto';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import * as tls from 'node:tls';
import { systemClock } from '@weir/io/time';
import { SocketLink } from '@weir/io/sockets';
import { streamTls } from '@weir/io/tls';
import { TLS_SERVER } from '../../../../../../test/support/links/carriers.ts';
import { loopbackSockets } from '../../../../../../test/support/links/loopback-sockets.ts';
import { preferHttp1 } from '../../../../src/transports/acceptor.ts';
import { NodeServer } from '../../../../src/transports/tls/secure-server.ts';
import { OpensslServer } from '../../../../src/transports/tls/openssl.ts';

const probe = streamTls();
if (probe.kind === 'unavailable') throw new Error(probe.reason);
const openssl = new OpensslServer(probe.library, TLS_SERVER, preferHttp1, systemClock);
const node = new NodeServer(TLS_SERVER, preferHttp1, systemClock);

/** Serves one connection, and destroys it after the handshake; of both servers of TLS. */
const SERVERS = {
  OpenSSL: (raw) => openssl.accept(new SocketLink(raw)),
  Node: (raw) => node.accept(raw),
} as const satisfies Record<
  string,
  (raw: Awaited<ReturnType<typeof loopbackSockets>>[1]) => Promise<{ destroy(): void }>
>;

interface Seen {
  readonly cipher: string;
  readonly resumed: boolean;
  /** In DER, for TLS 1.2 only. */
  readonly session: Buffer | undefined;
  /** For TLS 1.2 only. */
  readonly ticket: Buffer | undefined;
  /** What the server sent. */
  readonly bytes: Buffer;
}

/** What a client of Node's sees of a server. */
async function handshake(
  serve: (typeof SERVERS)[keyof typeof SERVERS],
  options: tls.ConnectionOptions,
): Promise<Seen> {
  const [near, far] = await loopbackSockets();
  const accepted = serve(far);
  const received: Buffer[] = [];
  const wire = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => near.write(chunk, done),
  });
  near.on('data', (chunk: Buffer) => {
    received.push(chunk);
    wire.push(chunk);
  });
  const client = tls.connect({
    socket: wire,
    servername: 'server.test',
    rejectUnauthorized: false,
    ...options,
  });
  client.on('error', () => undefined);
  await once(client, 'secureConnect');
  const seen = {
    cipher: client.getCipher().standardName,
    resumed: client.isSessionReused(),
    session: client.getSession(),
    ticket: client.getTLSTicket(),
    bytes: Buffer.concat(received),
  };
  (await accepted).destroy();
  client.destroy();
  near.destroy();
  return seen;
}

/** The ServerHello of TLS 1.2 (RFC 5246 §7.4.1.3) in a record of its own. */
function serverHello(bytes: Buffer): { idLength: number; extensions: number[] } {
  const RECORD_HEAD = 5;
  const MESSAGE_HEAD = 4;
  const idAt = RECORD_HEAD + MESSAGE_HEAD + 2 + 32;
  const idLength = bytes.readUInt8(idAt);
  const extensionsAt = idAt + 1 + idLength + 3;
  const end = extensionsAt + 2 + bytes.readUInt16BE(extensionsAt);
  const extensions: number[] = [];
  for (let at = extensionsAt + 2; at < end; at += 4 + bytes.readUInt16BE(at + 2)) {
    extensions.push(bytes.readUInt16BE(at));
  }
  return { idLength, extensions };
}

const TLS12 = { maxVersion: 'TLSv1.2' } as const;
/** The lifetime of a ticket, 300 seconds as nginx has it, as a session in DER contains it. */
const TICKET_LIFETIME = Buffer.from('a9040202012c', 'hex');
/** Bytes of a ticket of nginx 1.22 for a cipher with SHA-256, with the name of the server and without. */
const NGINX_TICKET = { named: 208, unnamed: 192 };
/** Renegotiation info, server name, point formats, ticket, ALPN, extended master secret. */
const EXTENSIONS = [0xff01, 0x0000, 0x000b, 0x0023, 0x0010, 0x0017];

for (const [name, serve] of Object.entries(SERVERS)) {
  for (const [version, first, second] of [
    ['TLSv1.3', 'TLS_AES_256_GCM_SHA384', 'TLS_AES_128_GCM_SHA256'],
    ['TLSv1.2', 'ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  ] as const) {
    test(`a server by ${name} takes the cipher of ${version} that the client prefers`, async () => {
      const seen: string[] = [];
      for (const ciphers of [`${first}:${second}`, `${second}:${first}`]) {
        seen.push((await handshake(serve, { maxVersion: version, ciphers })).cipher);
      }
      assert.match(seen[0] ?? '', /AES_256_GCM/);
      assert.match(seen[1] ?? '', /AES_128_GCM/);
    });
  }

  test(`a server by ${name} has the ciphers of nginx, Camellia included`, async () => {
    const seen = await handshake(serve, { ...TLS12, ciphers: 'ECDHE-ECDSA-CAMELLIA256-SHA384' });
    assert.equal(seen.cipher, 'TLS_ECDHE_ECDSA_WITH_CAMELLIA_256_CBC_SHA384');
  });

  test(`a server by ${name} sends the extensions of nginx in its ServerHello`, async () => {
    const { bytes } = await handshake(serve, { ...TLS12, ALPNProtocols: ['http/1.1'] });
    // Node's TLS cannot acknowledge the name.
    const extensions = EXTENSIONS.filter((type) => name !== 'Node' || type !== 0x0000);
    assert.deepEqual(serverHello(bytes), { idLength: 0, extensions });
  });

  test(`a server by ${name} gives a session of TLS 1.2 without a ticket an ID`, async () => {
    const secureOptions = constants.SSL_OP_NO_TICKET;
    const { bytes } = await handshake(serve, { ...TLS12, secureOptions });
    assert.equal(serverHello(bytes).idLength, 32);
  });

  test(`a server by ${name} gives tickets of TLS 1.2 five minutes, and takes them`, async () => {
    const { session } = await handshake(serve, TLS12);
    assert.ok(session?.includes(TICKET_LIFETIME));
    const { resumed } = await handshake(serve, { ...TLS12, session });
    assert.equal(resumed, true);
  });

  test(`a server by ${name} gives tickets as long as nginx's`, async () => {
    const { ticket } = await handshake(serve, {
      ...TLS12,
      ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256',
    });
    // A name that Node's TLS cannot acknowledge is not in its tickets.
    const { named, unnamed } = NGINX_TICKET;
    assert.equal(ticket?.length, name === 'Node' ? unnamed : named);
  });
}
