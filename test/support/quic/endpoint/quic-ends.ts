import assert from 'node:assert/strict';
import { SystemRandomSource } from '@weir/base/random';
import { copyEndpoint, type IpEndpoint, type BindDatagrams } from '@weir/base/ip';
import { systemClock } from '@weir/io/time';
import {
  DEFAULT_SETTINGS,
  type ConnectionSettings,
  type QuicConnection,
  type QuicStream,
} from '@weir/quic';
import {
  QuicEndpoint,
  type EndpointOptions,
} from '../../../../packages/quic/src/endpoint/endpoint.ts';
import { ReadQueue } from '@weir/io/links';
import { testClientTls, testServerTls } from '../tls.ts';
import { numeric } from './memory-network.ts';

export const serverTls = testServerTls();
export const clientTls = testClientTls();

export interface QuicEndsOptions extends Partial<EndpointOptions> {
  readonly host?: string;
  readonly settings?: Partial<ConnectionSettings>;
  readonly maxConnections?: number;
  readonly resetTokens?: EndpointOptions['resetTokens'];
}

/** One side of a connection, with what the other side opens and sends. */
export interface ConnectionEnd {
  readonly connection: QuicConnection;
  readonly streams: ReadQueue<QuicStream>;
  readonly datagrams: ReadQueue<Uint8Array>;
  /** Addresses that the peer has moved to. */
  readonly moves: string[];
}

/** A server and a client endpoint on loopback, or in memory. */
export class QuicEnds {
  readonly server: QuicEndpoint;
  readonly client: QuicEndpoint;
  readonly settings: ConnectionSettings;
  readonly #accepted = new ReadQueue<ConnectionEnd>();
  readonly #address: IpEndpoint;

  private constructor(
    server: QuicEndpoint,
    client: QuicEndpoint,
    address: IpEndpoint,
    options: QuicEndsOptions,
  ) {
    this.server = server;
    this.client = client;
    this.#address = address;
    this.settings = { ...DEFAULT_SETTINGS, maxDatagramFrameSize: 1200, ...options.settings };
    server.serve({
      tls: serverTls,
      connection: this.settings,
      maxConnections: options.maxConnections ?? 10_000,
      onConnection: (connection) => {
        const end = endOf(connection);
        this.#accepted.push(end);
        return handlersOf(end);
      },
    });
  }

  static async open(bind: BindDatagrams, options: QuicEndsOptions = {}): Promise<QuicEnds> {
    const { host = '127.0.0.1', settings: _, maxConnections: __, ...rest } = options;
    const common = { clock: systemClock, random: new SystemRandomSource(), ...rest };
    const local = numeric(host, 0);
    const server = await QuicEndpoint.bind(bind, local, common);
    const client = await QuicEndpoint.bind(bind, local, common);
    const address = { ...copyEndpoint(local), port: server.local.port };
    return new QuicEnds(server, client, address, options);
  }

  /** Dials without waiting for anything. */
  dial(settings: Partial<ConnectionSettings> = {}, from = this.client): ConnectionEnd {
    const queues = { streams: new ReadQueue<QuicStream>(), datagrams: new ReadQueue<Uint8Array>() };
    const moves: string[] = [];
    const connection = from.dial(this.#address, {
      tls: clientTls,
      connection: { ...this.settings, ...settings },
      handlers: handlersOf({ ...queues, moves }),
    });
    return { connection, ...queues, moves };
  }

  /** The next client whose handshake is complete. */
  async accept(): Promise<ConnectionEnd> {
    const end = await this.#accepted.take();
    assert.ok(end);
    return end;
  }

  /** A connection with both of its sides. */
  async connect(): Promise<{ readonly near: ConnectionEnd; readonly far: ConnectionEnd }> {
    const near = this.dial();
    const [far] = await Promise.all([this.accept(), near.connection.established]);
    return { near, far };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close(0x100);
    this.server.close(0x100);
    await Promise.all([this.client.closed, this.server.closed]);
  }
}

const endOf = (connection: QuicConnection): ConnectionEnd => ({
  connection,
  streams: new ReadQueue<QuicStream>(),
  datagrams: new ReadQueue<Uint8Array>(),
  moves: [],
});

const handlersOf = ({
  streams,
  datagrams,
  moves,
}: Omit<ConnectionEnd, 'connection'>): Parameters<QuicEndpoint['dial']>[1]['handlers'] => ({
  onStream: (stream) => streams.push(stream),
  onDatagram: (data) => datagrams.push(data),
  onMigrated: ({ host, port }) => moves.push(`${host} ${port}`),
});

/** A stream with both of its ends: the peer learns of one when something is sent on it. */
export async function openStream(
  near: ConnectionEnd,
  far: ConnectionEnd,
): Promise<{ readonly left: QuicStream; readonly right: QuicStream }> {
  const left = await near.connection.openStream('bidirectional');
  await left.write(Buffer.of(0));
  const right = await far.streams.take();
  assert.ok(right);
  assert.equal((await right.read())?.length, 1);
  return { left, right };
}
