import { once } from 'node:events';
import * as http2 from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { type Clock, systemClock } from '@weir/io/time';
import { createDialer, loadClients } from '@weir/proxy/transports';
import type { Dialer } from '../../../packages/proxy/src/transports/dial-tcp.ts';
import { loopback } from '../links/carriers.ts';

const GRPC = {
  tls: undefined,
  carrier: { kind: 'grpc', serviceName: 'Gun', authority: 'cdn.test' },
} as const;

/** A server of Node's own that accepts tunnels and remembers their connections. */
export class Http2Server implements AsyncDisposable {
  readonly server: http2.Http2Server;
  readonly sockets: Socket[] = [];
  readonly sessions: http2.ServerHttp2Session[] = [];
  readonly streams: http2.ServerHttp2Stream[] = [];
  readonly headers: http2.IncomingHttpHeaders[] = [];

  private constructor(server: http2.Http2Server) {
    this.server = server;
    server.on('session', (session) => {
      session.on('error', () => undefined);
      this.sessions.push(session);
    });
    server.on('connection', (socket: Socket) => this.sockets.push(socket));
    server.on('stream', (stream: http2.ServerHttp2Stream, headers) => {
      stream.on('error', () => undefined);
      this.streams.push(stream);
      this.headers.push(headers);
      stream.resume();
    });
  }

  static async open(settings: http2.Settings = {}): Promise<Http2Server> {
    const server = http2.createServer({ settings });
    await loadClients(GRPC);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Http2Server(server);
  }

  dialer(clock: Clock = systemClock, via: number = this.port): Dialer {
    return createDialer({ host: '127.0.0.1', port: via }, GRPC, {
      resolver: loopback,
      family: 'auto',
      clock,
    });
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async stream(index: number): Promise<http2.ServerHttp2Stream> {
    for (;;) {
      const stream = this.streams[index];
      if (stream) return stream;
      await once(this.server, 'stream');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.sessions) session.destroy();
    const closed = once(this.server, 'close');
    this.server.close();
    await closed;
  }
}
