import type { CreateController } from '@weir/congestion';
import { SeededRandom } from '../../simnet/seeded-random.ts';
import { formatEndpoint, type Endpoint } from '@weir/io/addresses';
import { type ByteLink, linkPair } from '@weir/io/links';
import { unlessAborted } from '@weir/io/time';
import type {
  DialRequest,
  DialledQuic,
  Reception,
  ServerEndpoint,
} from '../../../../packages/proxy/src/protocols/hysteria2/quic-endpoints.ts';
import type {
  CloseReason,
  QuicConnection,
  QuicHandlers,
  QuicStream,
} from '../../../../packages/quic/src/contract.ts';
import { ConnectionEndedError, StreamFailedError } from '@weir/quic';

/** A stream in memory: a reset and a stop reach the peer as the failure of its link. */
export class FakeStream implements QuicStream {
  readonly id: number;
  readonly bidirectional: boolean;
  /** Code of the last RESET_STREAM or STOP_SENDING of this side. */
  resetCode: number | undefined;
  stopCode: number | undefined;
  isOver = false;
  readonly #link: ByteLink;
  /** Nothing can be read any more. */
  readonly #stop = new AbortController();

  constructor(id: number, link: ByteLink) {
    this.id = id;
    this.bidirectional = (id & 2) === 0;
    this.#link = link;
    void link.closed.then(() => (this.isOver = true));
  }

  get closed(): Promise<Error | undefined> {
    return this.#link.closed;
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    const stopped = this.#stop.signal;
    return this.#link.read(signal ? AbortSignal.any([signal, stopped]) : stopped);
  }

  unread(chunk: Uint8Array): void {
    this.#link.unread(chunk);
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    return this.#link.write(chunk);
  }

  writeOutput(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    return this.#link.writeOutput(chunks);
  }

  closeWrite(): Promise<void> {
    return this.#link.closeWrite();
  }

  destroy(cause?: Error): void {
    this.#link.destroy(cause);
  }

  resetAfterData(cause: Error): void {
    this.#link.resetAfterData(cause);
  }

  reset(code: number): void {
    this.resetCode = code;
    this.#link.destroy(new StreamFailedError('reset', code));
  }

  stopSending(code: number): void {
    this.stopCode = code;
    this.#stop.abort(new Error('the stream is not read any more'));
  }
}

/** One end of a connection in memory. */
export class FakeConnection implements QuicConnection {
  readonly remote: Endpoint;
  readonly local: Endpoint;
  readonly wire = { bytesRead: 0, bytesWritten: 0 };
  readonly established: Promise<void>;
  readonly closed: Promise<CloseReason>;
  maxDatagramSize = 1200;
  /** Streams that may be opened yet. */
  streamsLeft = Infinity;
  /** Whether `authenticated` was called. */
  isAuthenticated = false;
  /** What `allowStreams` was called with last. */
  allowed: number | undefined;
  /** The rate in bytes per second of the controller that `useController` was called with last. */
  rate: number | undefined;
  /** Whether packets get lost on the way to the peer. */
  isCut = false;
  readonly opened: FakeStream[] = [];
  /** Bidirectional ones of the peer. */
  readonly #open = new Set<FakeStream>();
  readonly #isServer: boolean;
  readonly #established = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<CloseReason>();
  #reason: CloseReason | undefined;
  #peer: FakeConnection | undefined;
  #handlers: QuicHandlers | undefined;

  constructor(isServer: boolean, local: Endpoint, remote: Endpoint) {
    this.#isServer = isServer;
    this.local = local;
    this.remote = remote;
    this.established = this.#established.promise;
    this.established.catch(() => undefined);
    this.closed = this.#closed.promise;
  }

  get reason(): CloseReason | undefined {
    return this.#reason;
  }

  join(peer: FakeConnection, handlers: QuicHandlers): void {
    this.#peer = peer;
    this.#handlers = handlers;
    this.#established.resolve();
  }

  async openStream(
    kind: 'bidirectional' | 'unidirectional',
    signal?: AbortSignal,
  ): Promise<QuicStream> {
    signal?.throwIfAborted();
    if (this.streamsLeft === 0 && signal) await unlessAborted(new Promise(() => {}), signal);
    this.streamsLeft--;
    if (this.#reason) throw new ConnectionEndedError(this.#reason);
    const [near, far] = linkPair();
    const id = this.opened.length * 4 + (kind === 'bidirectional' ? 0 : 2) + Number(this.#isServer);
    const stream = new FakeStream(id, near);
    this.opened.push(stream);
    // Data of a lost connection goes nowhere.
    if (!this.isCut) this.#peer?.receiveStream(new FakeStream(id, far));
    return stream;
  }

  sendDatagram(data: Uint8Array): boolean {
    if (this.#reason || data.length > this.maxDatagramSize) return false;
    if (!this.isCut) this.#peer?.receiveDatagram(data.slice());
    return true;
  }

  authenticated(): void {
    this.isAuthenticated = true;
  }

  allowStreams(atOnce: number): void {
    this.allowed = atOnce;
  }

  useController(create: CreateController): void {
    this.rate = Math.round(create(1200, new SeededRandom(1)).pacingRate * 1000);
  }

  close(code: number, reason = ''): void {
    if (this.#reason) return;
    this.end({ kind: 'application', by: 'self', code, reason });
    if (!this.isCut) this.#peer?.end({ kind: 'application', by: 'peer', code, reason });
  }

  /** Ends it as the network or the peer would. */
  end(reason: CloseReason): void {
    if (this.#reason) return;
    this.#reason = reason;
    const error = new ConnectionEndedError(reason);
    this.#established.reject(error);
    for (const stream of this.opened) stream.destroy(error);
    this.#closed.resolve(reason);
  }

  /** The peer has moved to another address. */
  migrate(remote: Endpoint): void {
    this.#handlers?.onMigrated?.(remote);
  }

  get hasOpenStream(): boolean {
    return this.#open.size > 0;
  }

  receiveStream(stream: FakeStream): void {
    this.wire.bytesRead++;
    if (stream.bidirectional) {
      this.#open.add(stream);
      void stream.closed.then(() => this.#open.delete(stream));
    }
    this.#handlers?.onStream(stream);
  }

  receiveDatagram(data: Uint8Array): void {
    this.wire.bytesRead += data.length;
    this.#handlers?.onDatagram(data);
  }
}

/** Servers and clients of QUIC in memory. */
export class FakeNetwork {
  readonly #ports = new Map<string, FakeServer>();
  /** Each connection that was made, the client's end first. */
  readonly connections: [FakeConnection, FakeConnection | undefined][] = [];
  /** Where clients dial from. */
  clientHost = '127.0.0.1';
  /** Makes handshakes take until it is resolved. */
  pause: Promise<void> | undefined;
  #next = 50_000;

  readonly bind = async ({ host, port }: Endpoint): Promise<ServerEndpoint> => {
    const local = { host, port: port === 0 ? this.#next++ : port };
    const key = formatEndpoint(local);
    if (this.#ports.has(key)) throw Object.assign(new Error('in use'), { code: 'EADDRINUSE' });
    const server = new FakeServer(local, () => this.#ports.delete(key));
    this.#ports.set(key, server);
    return server;
  };

  readonly dial = async ({ server, handlers }: DialRequest): Promise<DialledQuic> => {
    const local = { host: this.clientHost, port: this.#next++ };
    const client = new FakeConnection(false, local, server);
    const pair: [FakeConnection, FakeConnection | undefined] = [client, undefined];
    this.connections.push(pair);
    void this.#connect(client, handlers, (far) => (pair[1] = far));
    return {
      connection: client,
      socket: { local, onClose: (back) => void client.closed.then(back) },
      close: (code) => client.close(code),
    };
  };

  async #connect(
    client: FakeConnection,
    handlers: QuicHandlers,
    onServer: (server: FakeConnection) => void,
  ): Promise<void> {
    await this.pause;
    // As with a socket, nothing happens in the turn of the dial.
    await new Promise((resolve) => setImmediate(resolve));
    const port = this.#ports.get(formatEndpoint(client.remote));
    if (!port?.reception) return;
    const server = port.accept(client);
    if (!server) {
      client.end({ kind: 'transport', by: 'peer', code: 2, reason: '' });
      return;
    }
    onServer(server);
    client.join(server, handlers);
  }
}

class FakeServer implements ServerEndpoint {
  readonly local: Endpoint;
  readonly closed: Promise<void>;
  reception: Reception | undefined;
  readonly #connections = new Set<FakeConnection>();
  readonly #closed = Promise.withResolvers<void>();

  constructor(local: Endpoint, onClose: () => void) {
    this.local = local;
    this.closed = this.#closed.promise.then(onClose);
  }

  serve(reception: Reception): void {
    this.reception = reception;
  }

  accept(client: FakeConnection): FakeConnection | undefined {
    if (!this.reception || this.#connections.size >= this.reception.maxConnections)
      return undefined;
    const server = new FakeConnection(true, this.local, client.local);
    this.#connections.add(server);
    void server.closed.then(() => this.#connections.delete(server));
    server.join(client, this.reception.onConnection(server));
    return server;
  }

  close(code: number): void {
    this.reception = undefined;
    for (const connection of this.#connections) connection.close(code);
    this.#closed.resolve();
  }
}
