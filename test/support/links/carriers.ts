import assert from 'node:assert/strict';
import type { FamilyPolicy, Resolver } from '@weir/io/addresses';
import { type Clock, systemClock } from '@weir/io/time';
import { type Carrier, ReadQueue } from '@weir/io/links';
import type {
  InboundCarrierSpec,
  InboundStreamSpec,
  OutboundCarrierSpec,
  OutboundStreamSpec,
  TlsClientSpec,
  TlsServerSpec,
} from '@weir/proxy/spec';
import { Acceptor, createDialer, loadClients, loadServers } from '@weir/proxy/transports';
import { listenTcp, UnauthenticatedClients } from '@weir/proxy/accept';
import { silentLogger } from '@weir/base/log';
import type { Dialer } from '../../../packages/proxy/src/transports/dial-tcp.ts';
import { parseAddress, portOf } from '../data/address.ts';
import { TestAuthority } from '../data/test-certificates.ts';

/** Resolves every name to loopback. */
export const loopback: Resolver = {
  resolve: (host: string, _policy: FamilyPolicy) =>
    Promise.resolve([/^[\d.]+$/.test(host) ? host : '127.0.0.1']),
};

const authority = new TestAuthority();
const issued = authority.issue({ dns: ['server.test'], ip: ['127.0.0.1'] });

export const TLS_SERVER: TlsServerSpec = { certificates: issued.cert, key: issued.key };
export const TLS_CLIENT: TlsClientSpec = {
  serverName: 'server.test',
  allowInsecure: false,
  ca: { file: 'ca.pem', certificates: [authority.cert] },
};

/** The carrier's settings at both ends of a connection. */
export interface StreamPair {
  readonly inbound: InboundStreamSpec | undefined;
  readonly outbound: OutboundStreamSpec | undefined;
}

const pair = (
  inbound: InboundCarrierSpec,
  outbound: OutboundCarrierSpec,
  secure: boolean,
): StreamPair => ({
  inbound: { carrier: inbound, tls: secure ? TLS_SERVER : undefined },
  outbound: { carrier: outbound, tls: secure ? TLS_CLIENT : undefined },
});

export const wsPair = (secure: boolean, earlyData = 0): StreamPair =>
  pair(
    { kind: 'ws', path: '/ws', host: undefined },
    { kind: 'ws', path: '/ws', host: 'server.test', earlyData },
    secure,
  );

export const grpcPair = (secure: boolean): StreamPair =>
  pair(
    { kind: 'grpc', serviceName: 'GunService' },
    { kind: 'grpc', serviceName: 'GunService', authority: 'server.test' },
    secure,
  );

export const TLS_PAIR = pair({ kind: 'raw' }, { kind: 'raw' }, true);

/** Every carrier there is, by name. */
export const CARRIERS: Readonly<Record<string, StreamPair>> = {
  tcp: { inbound: undefined, outbound: undefined },
  tls: TLS_PAIR,
  ws: wsPair(false),
  'ws with early data': wsPair(false, 2048),
  'ws over tls': wsPair(true),
  grpc: grpcPair(false),
  'grpc over tls': grpcPair(true),
};

/** A listener and a dialer to it, in this process. */
export class CarrierPair implements AsyncDisposable {
  readonly dialer: Dialer;
  readonly address: string;
  readonly accepted: ReadQueue<Carrier>;
  readonly unauthenticated: UnauthenticatedClients;
  readonly #close: () => Promise<void>;

  private constructor(
    address: string,
    accepted: ReadQueue<Carrier>,
    dialer: Dialer,
    unauthenticated: UnauthenticatedClients,
    close: () => Promise<void>,
  ) {
    this.address = address;
    this.accepted = accepted;
    this.dialer = dialer;
    this.unauthenticated = unauthenticated;
    this.#close = close;
  }

  static async open(
    { inbound, outbound }: StreamPair,
    clock: Clock = systemClock,
    unauthenticated = new UnauthenticatedClients(),
  ): Promise<CarrierPair> {
    const accepted = new ReadQueue<Carrier>();
    let isOpen = true;
    const onCarrier = (carrier: Carrier): void => {
      if (isOpen) accepted.push(carrier);
      else carrier.link.destroy();
    };
    if (inbound) await loadServers(inbound);
    if (outbound) await loadClients(outbound);
    const acceptor = new Acceptor(inbound, onCarrier, {
      clock,
      log: silentLogger,
      unauthenticated,
    });
    const listener = await listenTcp(
      { kind: 'ip', host: '127.0.0.1', port: 0 },
      { onConnection: (connection) => acceptor.accept(connection) },
    );
    const server = { host: '127.0.0.1', port: portOf(parseAddress(listener.address)) };
    const dialer = createDialer(server, outbound, { resolver: loopback, family: 'auto', clock });
    return new CarrierPair(listener.address, accepted, dialer, unauthenticated, async () => {
      await listener.close();
      acceptor.close();
      isOpen = false;
      while (accepted.size > 0) (await accepted.take())?.link.destroy();
    });
  }

  get port(): number {
    return portOf(parseAddress(this.address));
  }

  dial(signal: AbortSignal = new AbortController().signal): Promise<Carrier> {
    return this.dialer.dial({ signal });
  }

  /** The next carrier, whose client counts as authenticated. */
  async accept(): Promise<Carrier> {
    const carrier = await this.acceptUnproven();
    carrier.onAuthenticated?.();
    return carrier;
  }

  /** The same of a client that has not authenticated. */
  async acceptUnproven(): Promise<Carrier> {
    const carrier = await this.accepted.take();
    if (!carrier) throw new Error('the listener has closed');
    return carrier;
  }

  /** Both ends of a new carrier. */
  async connect(): Promise<{ readonly client: Carrier; readonly server: Carrier }> {
    const client = await this.dial();
    // A carrier with early data is opened by its first write; an empty one opens nothing.
    return { client, server: await this.accept() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.dialer.close();
    await this.#close();
  }
}

/**
 * Checks that the payload of the frames or records of one read is handed on together, each byte once and in order.
 * @param unit the largest payload of a frame or a record
 */
export async function checkJoinedReads(pair: StreamPair, unit: number): Promise<void> {
  await using carriers = await CarrierPair.open(pair);
  const { client, server } = await carriers.connect();
  // A little larger than four units, as WebSockets make their frames of full reads.
  const SIZE = 4 * unit + 14;
  const sent = Buffer.concat(Array.from({ length: 64 }, (_, i) => Buffer.alloc(SIZE, i + 1)));
  const sending = (async () => {
    for (let at = 0; at < sent.length; at += SIZE) {
      await client.link.write(sent.subarray(at, at + SIZE));
    }
    await client.link.closeWrite();
  })();
  const chunks: Uint8Array[] = [];
  for (let chunk; (chunk = await server.link.read());) chunks.push(Buffer.from(chunk));
  await sending;
  assert.ok(Buffer.concat(chunks).equals(sent));
  const units = Math.ceil(sent.length / unit);
  assert.ok(chunks.length < units, `${chunks.length} chunks of ${units} frames or records`);
  client.link.destroy();
  server.link.destroy();
}
