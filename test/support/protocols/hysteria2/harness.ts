import { LiveSessions } from '@weir/proxy/engine';
import { silentLogger } from '@weir/base/log';
import { KeptObjects } from '@weir/base/collections';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { atOnce } from '@weir/io/time';
import { accountsOf, InboundMemory, NO_ACCOUNTS } from '@weir/proxy/protocols';
import { Http3Client } from '@weir/http/http3';
import type { ClientTls, QuicConnection, ServerTls } from '@weir/quic';
import { Tracker } from '@weir/proxy/tracker';
import type {
  InboundContext,
  SessionListener,
  SessionServer,
} from '../../../../packages/proxy/src/protocols/contract.ts';
import { Authenticator } from '../../../../packages/proxy/src/protocols/hysteria2/authentication.ts';
import { Hysteria2Server } from '../../../../packages/proxy/src/protocols/hysteria2/inbound.ts';
import { Hysteria2Outbound } from '../../../../packages/proxy/src/protocols/hysteria2/outbound.ts';
import type {
  Hysteria2InboundSettings,
  Hysteria2OutboundSettings,
} from '../../../../packages/proxy/src/protocols/hysteria2/settings.ts';
import { ManualClock } from '../../manual-clock.ts';
import { SeededRandom } from '../../simnet/seeded-random.ts';
import { inboundContext } from '../inbound-context.ts';
import { FakeEngine } from '../inbounds/engine.ts';
import { FakeNetwork } from './fake-quic.ts';

export const PASSWORD = 'sesame';

export const serverSettings: Hysteria2InboundSettings = {
  tls: { certificates: '', key: '' },
  credentials: { password: PASSWORD },
  udp: { idleSeconds: 60 },
  maxConnections: 4096,
  maxCircuits: 65_536,
  obfuscation: undefined,
  masquerade: { status: 404, body: 'nothing here\n', contentType: 'text/plain' },
};

export const clientSettings: Hysteria2OutboundSettings = {
  password: PASSWORD,
  serverName: 'hy.example',
  allowInsecure: false,
  ca: undefined,
  obfuscation: undefined,
  maxConcurrentStreams: 102_400,
};

/** The fakes make no handshake. */
const tls: ServerTls & ClientTls = {
  createHandshake: () => {
    throw new Error('there is no TLS here');
  },
  [Symbol.dispose]: () => undefined,
};

/** Servers and clients on one network in memory, whose engine echoes. */
export class Bench {
  readonly network = new FakeNetwork();
  readonly clock = new ManualClock();
  readonly dispatcher = new FakeEngine('echo');
  readonly tracker = new Tracker(this.clock);
  readonly registry = this.createRegistry();
  readonly #random = new SeededRandom(7);
  readonly #memory = new InboundMemory();
  /** Host names resolve to these addresses. */
  addresses: readonly string[] = ['192.0.2.1'];

  createRegistry(tag = 'in'): LiveSessions {
    return new LiveSessions(tag, this.tracker, new OwnListeners());
  }

  server(
    changes: Partial<Hysteria2InboundSettings> = {},
    context: Partial<InboundContext> = {},
  ): SessionServer {
    const settings = { ...serverSettings, ...changes };
    return new Hysteria2Server(
      atOnce(Authenticator.of(settings.credentials)),
      inboundContext('in', this, { memory: this.#memory, ...context }),
      settings,
      { bind: this.network.bind, createTls: () => tls, random: this.#random },
    );
  }

  /** Removes all accounts, as a reload does. */
  async removeAccounts(): Promise<void> {
    const accounts = accountsOf(this.#memory);
    accounts.replace(NO_ACCOUNTS);
    const turns = { due: false, next: () => Promise.resolve() };
    await accounts.endIdle(turns, (error) => {
      throw error;
    });
  }

  /** A listener that serves. */
  async listen(changes: Partial<Hysteria2InboundSettings> = {}): Promise<SessionListener> {
    const server = this.server(changes);
    const listen = { kind: 'ip', host: '192.0.2.1', port: 443 } as const;
    const listener = await server.bind(listen, this.registry);
    listener.serve();
    return listener;
  }

  async prober(onDatagram: (data: Uint8Array) => void = () => undefined): Promise<Prober> {
    const late: { http?: Http3Client } = {};
    const { connection } = await this.network.dial({
      server: { host: '192.0.2.1', port: 443 },
      tls,
      clock: this.clock,
      random: this.#random,
      obfuscation: undefined,
      handlers: { onStream: (stream) => late.http?.accept(stream), onDatagram },
    });
    const http = (late.http = new Http3Client(connection));
    await connection.established;
    return { connection, http };
  }

  client(
    changes: Partial<Hysteria2OutboundSettings> = {},
    { port = 443 }: { readonly port?: number } = {},
  ): Hysteria2Outbound {
    return new Hysteria2Outbound(
      { ...clientSettings, ...changes },
      {
        tag: 'out',
        family: 'auto',
        resolver: { resolve: () => Promise.resolve(this.addresses) },
        clock: this.clock,
        log: silentLogger,
        ownListeners: new OwnListeners(),
        shared: new KeptObjects(),
        server: { host: 'hy.example', port },
        dial: () => Promise.reject(new Error('QUIC is not dialled over TCP')),
      },
      { dial: this.network.dial, createTls: () => tls, random: this.#random },
    );
  }
}

/** A client of HTTP/3 that does not authenticate by itself. */
export interface Prober {
  readonly connection: QuicConnection;
  readonly http: Http3Client;
}

/** Dials without a limit. */
export const patient = { signal: new AbortController().signal };

export const echo = { host: 'echo.example', port: 7 };
