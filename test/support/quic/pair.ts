import assert from 'node:assert/strict';
import { toEndpoint, type IpEndpoint } from '@weir/base/ip';
import {
  DEFAULT_SETTINGS,
  type ConnectionSettings,
  type ClientTls,
  type ServerTls,
} from '@weir/quic';
import {
  type ClientOptions,
  QuicCore,
  type ServerOptions,
} from '../../../packages/quic/src/connection/quic-core.ts';
import type { TraceEvent } from '../../../packages/quic/src/trace.ts';
import { PacketHeader, readPacketHeader } from '../../../packages/quic/src/wire/packet-header.ts';
import { UNAUTHENTICATED_WINDOW } from '../../../packages/quic/src/limits.ts';
import { DEFAULT_STREAM_GRANTS } from '../../../packages/quic/src/streams/grants.ts';
import { SeededRandom } from '../simnet/seeded-random.ts';
import { Peer, TestIds, type SentDatagram } from './peer.ts';
import { OpenTls } from './open-tls.ts';
import { testClientTls, testServerTls } from './tls.ts';
import { WireRules } from './wire-rules.ts';
import { WireTap, type SeenPacket, type Side } from './wire-tap.ts';

/** An address of the documentation range. */
export function address(host: string, port: number): IpEndpoint {
  const endpoint = toEndpoint(host, port);
  assert.ok(endpoint);
  return endpoint;
}

export const CLIENT_ADDRESS = address('192.0.2.1', 40_000);
export const SERVER_ADDRESS = address('192.0.2.2', 443);

export interface PairOptions {
  readonly seed?: number;
  readonly client?: Partial<ConnectionSettings>;
  readonly server?: Partial<ConnectionSettings>;
  /** Milliseconds from sending to arrival. */
  readonly delay?: number;
  /** Whether all packets are opened (`tap`); `judged` holds them to what the RFCs say as well. */
  readonly watch?: 'opened' | 'judged';
  readonly clientTls?: ClientTls;
  readonly serverTls?: ServerTls;
  readonly clientIdSize?: number;
  readonly token?: Uint8Array;
  readonly serverOptions?: Partial<ServerOptions>;
  readonly clientOptions?: Partial<ClientOptions>;
  /** Answers a first datagram without a connection, or says how to make one. */
  readonly answer?: (
    data: Uint8Array,
    header: PacketHeader,
  ) => Uint8Array | Partial<ServerOptions> | undefined;
}

interface Flying extends SentDatagram {
  readonly at: number;
  readonly towards: 'client' | 'server';
}

let defaults: { readonly client: ClientTls; readonly server: ServerTls } | undefined;

/**
 * A client and a server, driven by hand in virtual time. The server's connection is made by the first
 * datagram that arrives.
 */
export class Pair {
  /** An address that a test has written down. */
  static readonly address = address;
  now = 1000;
  readonly random: SeededRandom;
  readonly client: Peer;
  readonly clientIds: TestIds;
  readonly serverIds: TestIds;
  /** What is on the way, in the order of arrival. */
  readonly flying: Flying[] = [];
  /** Whether a datagram arrives; replaced by tests that lose some. */
  passes: (datagram: SentDatagram, towards: 'client' | 'server') => boolean = () => true;
  /** Milliseconds from sending to arrival. */
  delay: number;
  /** How many milliseconds later a datagram arrives; replaced by tests that reorder. */
  lateness: (towards: 'client' | 'server') => number = () => 0;
  /** Datagrams sent by both sides. */
  sent: { readonly towards: 'client' | 'server'; readonly size: number }[] = [];
  #server: Peer | undefined;
  readonly #options: PairOptions;
  readonly #tls: { readonly client: ClientTls; readonly server: ServerTls };
  readonly #tap: WireTap | undefined;
  #rules: WireRules | undefined;
  readonly #seen = new Map<string, SeenPacket>();
  /** Events of the traces that the rules have been told of. */
  readonly #told = { client: 0, server: 0 };

  constructor(options: PairOptions = {}) {
    defaults ??= { client: testClientTls(), server: testServerTls() };
    const client = options.clientTls ?? defaults.client;
    const server = options.serverTls ?? defaults.server;
    if (options.watch !== undefined) {
      const tls = { client: new OpenTls(client), server: new OpenTls(server) };
      this.#tls = tls;
      this.#tap = new WireTap(tls, { client: options.clientIdSize ?? 8, server: 8 });
    } else this.#tls = { client, server };
    this.#options = options;
    this.random = new SeededRandom(options.seed ?? 1);
    this.delay = options.delay ?? 0;
    this.clientIds = new TestIds(this.random, options.clientIdSize);
    this.serverIds = new TestIds(this.random);
    const trace: TraceEvent[] = [];
    this.client = new Peer(
      QuicCore.client({
        settings: { ...DEFAULT_SETTINGS, ...options.client },
        random: this.random,
        ids: this.clientIds,
        remote: SERVER_ADDRESS,
        now: this.now,
        tls: this.#tls.client,
        token: options.token,
        trace: (event) => trace.push(event),
        ...options.clientOptions,
      }),
      CLIENT_ADDRESS,
      trace,
    );
  }

  /** The server's side, once it has been made. */
  get server(): Peer {
    assert.ok(this.#server, 'no datagram of the client has arrived');
    return this.#server;
  }

  /** What was sent, in plaintext. */
  get tap(): WireTap {
    return this.#tap ?? assert.fail('the pair is not watched');
  }

  /** A side moves to another path, where recovery begins anew. */
  leavePath(): void {
    this.#rules?.forgetRecovery();
  }

  get hasServer(): boolean {
    return this.#server !== undefined;
  }

  /** Sends what both sides want to send now. */
  flush(): void {
    this.#launch(this.client.flush(this.now), 'server');
    if (this.#server) this.#launch(this.#server.flush(this.now), 'client');
    this.#follow();
  }

  /** Delivers what has been sent, and what is sent in response, without moving time. */
  deliver(): void {
    for (let round = 0; ; round++) {
      assert.ok(round < 10_000, 'the two never come to rest');
      this.flush();
      const due = this.flying.filter(({ at }) => at <= this.now);
      if (due.length === 0) break;
      this.flying.splice(0, this.flying.length, ...this.flying.filter(({ at }) => at > this.now));
      for (const datagram of due) this.arrive(datagram, datagram.towards);
    }
    this.#rules?.check(this.now);
  }

  /** One datagram arrives now. */
  arrive(datagram: SentDatagram, towards: 'client' | 'server'): void {
    if (towards === 'client') this.client.receive(datagram, this.now);
    else {
      this.#server ??= this.#accept(datagram);
      this.#server?.receive(datagram, this.now);
    }
    this.#follow();
  }

  /** Loses the next `count` datagrams that are on the way. */
  drop(count = 1): void {
    this.flush();
    this.flying.splice(0, count);
  }

  /** Turns the order of what is on the way. */
  reverse(): void {
    this.flush();
    this.flying.reverse();
  }

  /** Moves time by so many milliseconds, from deadline to deadline, and delivers. */
  advance(milliseconds: number): void {
    const end = this.now + milliseconds;
    this.deliver();
    for (;;) {
      const next = this.nextTime();
      if (next > end) break;
      this.now = Math.max(this.now, next);
      this.#timeouts();
      this.deliver();
    }
    this.now = end;
    this.deliver();
  }

  /** Moves time until a condition holds. */
  run(isDone: () => boolean, limit = 60_000): number {
    const start = this.now;
    this.deliver();
    while (!isDone()) {
      const next = this.nextTime();
      assert.ok(next < Infinity, 'nothing is left to happen');
      assert.ok(next - start <= limit, 'it takes too long');
      this.now = Math.max(this.now, next);
      this.#timeouts();
      this.deliver();
    }
    return this.now - start;
  }

  /** When something happens next. */
  nextTime(): number {
    let next = this.client.connection.nextTimeout();
    if (this.#server) next = Math.min(next, this.#server.connection.nextTimeout());
    for (const { at } of this.flying) next = Math.min(next, at);
    return next;
  }

  /** Runs the handshake until both sides have confirmed it. */
  connect(): this {
    this.run(
      () =>
        this.client.connection.state === 'confirmed' &&
        this.#server?.connection.state === 'confirmed',
    );
    return this;
  }

  #timeouts(): void {
    this.#timeout(this.client, 'client');
    if (this.#server) this.#timeout(this.#server, 'server');
  }

  #timeout({ connection, trace }: Peer, side: Side): void {
    const before = trace.length;
    connection.onTimeout(this.now);
    const probed = trace.slice(before).some(({ kind }) => kind === 'probe');
    this.#rules?.onTimeout(side, this.now, probed);
  }

  /** Tells the rules what has happened, in its order. */
  #follow(): void {
    if (this.#options.watch !== 'judged' || this.#server === undefined) return;
    this.#rules ??= this.#makeRules(this.#server);
    for (const side of ['client', 'server'] as const) {
      const { trace } = side === 'client' ? this.client : this.#server;
      for (; this.#told[side] < trace.length; this.#told[side]++) {
        const event = trace[this.#told[side]] as TraceEvent;
        if (event.kind === 'packet-sent') {
          this.#rules.onSent(this.#packetOf(side, event.space, event.number));
        } else if (event.kind === 'packet-received') {
          const from = side === 'client' ? 'server' : 'client';
          this.#rules.onProcessed(this.#packetOf(from, event.space, event.number), this.now);
        } else this.#rules.onTrace(side, event);
      }
    }
  }

  #packetOf(from: Side, space: number, number: number): SeenPacket {
    return this.#seen.get(`${from} ${space} ${number}`) ?? assert.fail('a packet never left');
  }

  #makeRules({ connection: server }: Peer): WireRules {
    const { client: ours, server: theirs } = this.#options;
    const window = (theirs?.grants ?? DEFAULT_STREAM_GRANTS).connectionWindow;
    return new WireRules(
      { client: this.client.connection, server },
      { client: ours?.grants, server: theirs?.grants },
      theirs?.authenticates === true ? Math.min(window, UNAUTHENTICATED_WINDOW) : window,
    );
  }

  #launch(datagrams: readonly SentDatagram[], towards: 'client' | 'server'): void {
    for (const datagram of datagrams) {
      this.sent.push({ towards, size: datagram.data.length });
      const from = towards === 'client' ? 'server' : 'client';
      for (const packet of this.#tap?.see(datagram.data, from, this.now) ?? []) {
        this.#seen.set(`${from} ${packet.space} ${packet.number}`, packet);
      }
      if (!this.passes(datagram, towards)) continue;
      this.flying.push({
        ...datagram,
        towards,
        at: this.now + this.delay + this.lateness(towards),
      });
    }
  }

  #accept({ data, from, to }: SentDatagram): Peer | undefined {
    const header = new PacketHeader();
    if (readPacketHeader(data, 0, data.length, 8, header) !== undefined) return undefined;
    const answer = this.#options.answer?.(data, header);
    if (answer instanceof Uint8Array) {
      this.#launch([{ data: answer, from: to, to: from, ecn: 0 }], 'client');
      return undefined;
    }
    const { destinationIdOffset, destinationIdSize, sourceIdOffset, sourceIdSize } = header;
    const trace: TraceEvent[] = [];
    const connection = QuicCore.server({
      settings: { ...DEFAULT_SETTINGS, ...this.#options.server },
      random: this.random,
      ids: this.serverIds,
      remote: from,
      local: to,
      now: this.now,
      tls: this.#tls.server,
      originalId: data.slice(destinationIdOffset, destinationIdOffset + destinationIdSize),
      clientId: data.slice(sourceIdOffset, sourceIdOffset + sourceIdSize),
      isValidated: false,
      trace: (event) => trace.push(event),
      ...this.#options.serverOptions,
      ...answer,
    });
    return new Peer(connection, SERVER_ADDRESS, trace);
  }
}
