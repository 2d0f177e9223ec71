import assert from 'node:assert/strict';
import {
  DEFAULT_SETTINGS,
  type QuicConnection,
  type QuicHandlers,
  type ClientTls,
  type ServerTls,
} from '@weir/quic';
import {
  QuicEndpoint,
  type DialSettings,
  type EndpointOptions,
  type ServerSettings,
} from '../../../../packages/quic/src/endpoint/endpoint.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryNetwork, numeric, type MemorySocket } from './memory-network.ts';
import { ScriptedCores } from './scripted-core.ts';
import { SeededRandom } from '../../simnet/seeded-random.ts';

export const SERVER = numeric('127.0.0.1', 443);
export const CLIENT = numeric('192.0.2.7', 4242);

/** TLS that no scripted connection uses. */
const noTls: ServerTls & ClientTls = {
  createHandshake: () => {
    throw new Error('a scripted connection has no TLS');
  },
  [Symbol.dispose]: () => undefined,
};

export const noHandlers: QuicHandlers = { onStream: () => undefined, onDatagram: () => undefined };

/** An endpoint over a socket in memory, whose connections are scripted. */
export class EndpointRig {
  readonly clock: ManualClock;
  readonly network: MemoryNetwork;
  readonly cores: ScriptedCores;
  readonly endpoint: QuicEndpoint;
  readonly socket: MemorySocket;
  readonly accepted: QuicConnection[] = [];
  /** Datagrams that were sent since `record`. */
  readonly responses: Buffer[] = [];

  private constructor(
    network: MemoryNetwork,
    cores: ScriptedCores,
    endpoint: QuicEndpoint,
    socket: MemorySocket,
  ) {
    this.clock = network.clock;
    this.network = network;
    this.cores = cores;
    this.endpoint = endpoint;
    this.socket = socket;
  }

  static async open(options: Partial<EndpointOptions> = {}): Promise<EndpointRig> {
    const clock = new ManualClock();
    const network = new MemoryNetwork(clock);
    const cores = new ScriptedCores();
    let socket: MemorySocket | undefined;
    const endpoint = await QuicEndpoint.bind(
      async (socketOptions, handlers) => {
        socket = await network.bind(socketOptions, handlers);
        return socket;
      },
      SERVER,
      {
        clock,
        random: new SeededRandom(1),
        connections: cores,
        soon: network.soon,
        ...options,
      },
    );
    assert.ok(socket);
    return new EndpointRig(network, cores, endpoint, socket);
  }

  serve(changes: Partial<ServerSettings> = {}): void {
    this.endpoint.serve({
      tls: noTls,
      connection: DEFAULT_SETTINGS,
      maxConnections: 1000,
      onConnection: (connection) => {
        this.accepted.push(connection);
        return noHandlers;
      },
      ...changes,
    });
  }

  dial(changes: Partial<DialSettings> = {}): QuicConnection {
    return this.endpoint.dial(numeric('192.0.2.9', 443), {
      tls: noTls,
      connection: DEFAULT_SETTINGS,
      handlers: noHandlers,
      ...changes,
    });
  }

  /** Everything that leaves the socket from now on is kept in `responses`. */
  record(): void {
    this.network.fate = (bytes) => {
      this.responses.push(Buffer.from(bytes));
      return 'lost';
    };
  }

  /** Delivers datagrams of a client within one turn. */
  async deliver(datagrams: readonly Uint8Array[], from = CLIENT): Promise<void> {
    for (const datagram of datagrams) this.socket.deliver(datagram, from);
    await this.network.settle();
  }
}
