import { randomBytes } from 'node:crypto';
import { SystemRandomSource } from '@weir/base/random';
import { Http3Client, Http3ErrorCode, type Http3ResponseHead } from '@weir/http/http3';
import { silentLogger } from '@weir/base/log';
import { systemClock } from '@weir/io/time';
import { DialError } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import { KeptObjects } from '@weir/base/collections';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { Hysteria2Outbound } from '../../../packages/proxy/src/protocols/hysteria2/outbound.ts';
import { dialServer } from '../../../packages/proxy/src/protocols/hysteria2/quic-endpoints.ts';
import type { ClientTls } from '@weir/quic';
import { QuicClientTls } from '../../../packages/proxy/src/transports/tls/quic.ts';
import { portOf, type Address } from '../data/address.ts';
import type { Origin } from './servers.ts';
import { UdpRelay } from './udp-relay.ts';
import { certificate, SERVER_NAME } from '../ways/certificate.ts';

const patient = { signal: new AbortController().signal };
const random = new SystemRandomSource();

/** Any number of Hysteria 2 clients of one server in this process, each with a connection of its own. */
export class Hysteria2Clients implements Disposable {
  readonly #server: Address;
  readonly #password: string;
  readonly #tls: QuicClientTls;

  constructor(server: Address, password: string) {
    this.#server = server;
    this.#password = password;
    const { caFile: file, ca } = certificate();
    const trusted = { file, certificates: [ca] };
    this.#tls = new QuicClientTls({ serverName: SERVER_NAME, allowInsecure: false, ca: trusted });
  }

  /** A client that has not connected yet; closing it says goodbye to the server. */
  create({ server = this.#server, password = this.#password } = {}): Hysteria2Outbound {
    return new Hysteria2Outbound(
      {
        password,
        serverName: SERVER_NAME,
        allowInsecure: false,
        ca: undefined,
        obfuscation: undefined,
        maxConcurrentStreams: 1024,
      },
      {
        tag: 'out',
        family: 'auto',
        resolver: { resolve: (host) => Promise.resolve([host]) },
        clock: systemClock,
        log: silentLogger,
        ownListeners: new OwnListeners(),
        shared: new KeptObjects(),
        server: { host: '127.0.0.1', port: portOf(server) },
        dial: () => Promise.reject(new Error('QUIC is not dialled over TCP')),
      },
      { dial: dialServer, createTls: () => this.#shared() },
    );
  }

  /** A request to the web server that everyone without the password sees. */
  async probe(path: string): Promise<Http3ResponseHead> {
    const late: { http?: Http3Client } = {};
    const dialled = await dialServer({
      server: { host: '127.0.0.1', port: portOf(this.#server) },
      tls: this.#tls,
      clock: systemClock,
      random,
      obfuscation: undefined,
      handlers: { onStream: (stream) => late.http?.accept(stream), onDatagram: () => undefined },
    });
    const { connection } = dialled;
    const http = (late.http = new Http3Client(connection));
    try {
      await connection.established;
      const head = { method: 'GET', scheme: 'https', authority: SERVER_NAME, fields: [] };
      return await http.request({ ...head, path });
    } finally {
      dialled.close(Http3ErrorCode.H3_NO_ERROR);
      await connection.closed;
    }
  }

  [Symbol.dispose](): void {
    this.#tls[Symbol.dispose]();
  }

  /** Contexts of TLS are costly, and a client disposes of its own. */
  #shared(): ClientTls {
    return {
      createHandshake: (...handshake) => this.#tls.createHandshake(...handshake),
      [Symbol.dispose]: () => undefined,
    };
  }
}

/** Opens a stream to an echo server. */
export const openEcho = (client: Hysteria2Outbound, echo: Origin): Promise<ByteLink> =>
  client.connect(echo.target, patient);

/** Sends bytes to an echo server and compares what comes back. */
export async function exchange(link: ByteLink, size: number): Promise<void> {
  const sent = randomBytes(size);
  await link.write(Buffer.from(sent));
  for (let at = 0; at < size;) {
    const chunk = await link.read();
    if (!chunk) throw new Error(`the stream ended after ${at} of ${size} bytes`);
    if (!sent.subarray(at, at + chunk.length).equals(chunk)) throw new Error('wrong bytes');
    at += chunk.length;
  }
}

/** What a connection is used for before it ends. */
export type ChurnKind = 'echo' | 'a wrong password' | 'a prober' | 'a client that vanishes';

/** One connection of that kind from its first packet to its end. */
export async function connectOnce(
  kind: ChurnKind,
  clients: Hysteria2Clients,
  server: Address,
  echo: Origin,
): Promise<void> {
  switch (kind) {
    case 'echo': {
      const client = clients.create();
      const link = await openEcho(client, echo);
      await exchange(link, 2000);
      await link.closeWrite();
      client.close();
      break;
    }
    case 'a wrong password': {
      const client = clients.create({ password: 'wrong' });
      const refused = await openEcho(client, echo).catch((error: unknown) => error);
      client.close();
      if (!(refused instanceof DialError && refused.code === 'upstream')) throw refused;
      break;
    }
    case 'a prober': {
      const { status } = await clients.probe('/index.html');
      if (status !== 404) throw new Error(`status ${status}`);
      break;
    }
    case 'a client that vanishes': {
      const relay = await UdpRelay.start(server);
      const client = clients.create({ server: relay.address });
      await exchange(await openEcho(client, echo), 2000);
      await relay[Symbol.asyncDispose]();
      client.close();
      break;
    }
    default:
      kind satisfies never;
  }
}

/** So many connections of the kinds given in turn, some at a time. */
export async function churn(
  count: number,
  atOnce: number,
  kindOf: (index: number) => ChurnKind,
  clients: Hysteria2Clients,
  server: Address,
  echo: Origin,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) {
      await connectOnce(kindOf(i), clients, server, echo);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/**
 * Exchanges bytes over one stream of one connection, without a pause, while something else is done.
 *
 * @returns the number of bytes that came back.
 */
export async function exchangeDuring(
  client: Hysteria2Outbound,
  echo: Origin,
  during: () => Promise<void>,
): Promise<number> {
  const link = await openEcho(client, echo);
  const work = { over: false, bytes: 0 };
  const exchanging = (async () => {
    while (!work.over) {
      await exchange(link, 200_000);
      work.bytes += 200_000;
    }
  })();
  try {
    await Promise.race([during(), exchanging]);
  } finally {
    work.over = true;
  }
  await exchanging;
  link.destroy();
  return work.bytes;
}
