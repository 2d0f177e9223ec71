import assert from 'node:assert/strict';
import { addressText, toEndpoint, type IpEndpoint } from '@weir/base/ip';
import { DEFAULT_SETTINGS, type ConnectionSettings } from '@weir/quic';
import { QuicCore } from '../../../packages/quic/src/connection/quic-core.ts';
import type { QuicTrace } from '../../../packages/quic/src/trace.ts';
import { PacketHeader, readPacketHeader } from '../../../packages/quic/src/wire/packet-header.ts';
import { IDLE, send, wait, type Datagram, type Node, type Output } from '../simnet/node.ts';
import { SeededRandom } from '../simnet/seeded-random.ts';
import { Peer, TestIds, type SentDatagram } from './peer.ts';
import { testClientTls, testServerTls } from './tls.ts';

let tls: ReturnType<typeof makeTls> | undefined;
const makeTls = () => ({ client: testClientTls(), server: testServerTls() });

/** The most bytes that a probe timeout sends beyond the window: two datagrams. */
const PROBE_BYTES = 2 * 1472;

function parse({ host, port }: { readonly host: string; readonly port: number }): IpEndpoint {
  const endpoint = toEndpoint(host, port);
  assert.ok(endpoint);
  return endpoint;
}

/** A connection as a node of a simulated network, with the invariants that hold after every step. */
abstract class ConnectionNode implements Node {
  readonly name: string;
  readonly address: IpEndpoint;
  protected readonly random: SeededRandom;
  #probedAt = -1;
  protected readonly trace: QuicTrace = (event, now) => {
    if (event.kind === 'probe') this.#probedAt = now;
  };
  readonly #out: SentDatagram[] = [];
  #isFlushed = false;
  #lastAt = -1;

  constructor(name: string, address: IpEndpoint, random: SeededRandom) {
    this.name = name;
    this.address = address;
    this.random = random;
  }

  abstract get peer(): Peer | undefined;
  protected abstract take(datagram: SentDatagram, now: number): void;
  /** What the test does at each step. */
  onStep: ((now: number) => void) | undefined;
  isDone: () => boolean = () => true;

  get done(): boolean {
    return this.isDone();
  }

  process(datagram: Datagram | undefined, now: number): Output {
    if (datagram) {
      const { data, from, to } = datagram;
      this.take({ data, from: parse(from), to: parse(to), ecn: 0 }, now);
      this.#isFlushed = false;
    }
    const { peer } = this;
    if (peer === undefined) return IDLE;
    // What has just arrived may have brought a deadline forward.
    if (now > this.#lastAt || peer.connection.nextTimeout() <= now) {
      this.#lastAt = now;
      this.#isFlushed = false;
      peer.connection.onTimeout(now);
    }
    if (!this.#isFlushed) {
      this.#isFlushed = true;
      this.onStep?.(now);
      this.#flush(peer, now);
    }
    const next = this.#out.shift();
    if (next !== undefined) {
      return send({
        data: next.data,
        from: { host: addressText(next.from), port: next.from.port },
        to: { host: addressText(next.to), port: next.to.port },
      });
    }
    const timeout = peer.connection.nextTimeout();
    return timeout === Infinity ? IDLE : wait(timeout);
  }

  #flush(peer: Peer, now: number): void {
    const { connection } = peer;
    const before = connection.statistics().inFlight;
    this.#out.push(...peer.flush(now));
    const { inFlight, window } = connection.statistics();
    // A probe timeout sends whatever the window says (RFC 9002 §7.5).
    const allowed = Math.max(before, window) + (this.#probedAt === now ? PROBE_BYTES : 0);
    assert.ok(inFlight <= allowed, `${inFlight} bytes in flight in a window of ${window}`);
    assert.ok(inFlight >= 0, `${inFlight} bytes in flight`);
    // Calling twice is calling once.
    const timeout = connection.nextTimeout();
    connection.onTimeout(Math.min(now, timeout - 0.001));
    assert.equal(peer.flush(now).length, 0);
    assert.equal(connection.nextTimeout(), timeout);
    assert.ok(timeout > now, `a deadline at ${timeout} is not after ${now}`);
  }
}

export class ClientNode extends ConnectionNode {
  readonly peer: Peer;

  constructor(
    seed: number,
    address: IpEndpoint,
    server: IpEndpoint,
    settings: Partial<ConnectionSettings> = {},
  ) {
    super('client', address, new SeededRandom(seed));
    tls ??= makeTls();
    this.peer = new Peer(
      QuicCore.client({
        settings: { ...DEFAULT_SETTINGS, handshakeTimeout: 60_000, ...settings },
        random: this.random,
        ids: new TestIds(this.random),
        remote: server,
        now: 0,
        tls: tls.client,
        trace: this.trace,
      }),
      address,
      [],
    );
  }

  protected take(datagram: SentDatagram, now: number): void {
    this.peer.receive(datagram, now);
  }
}

/** A server that accepts one connection. */
export class ServerNode extends ConnectionNode {
  #peer: Peer | undefined;
  readonly #settings: Partial<ConnectionSettings>;
  onAccept: ((peer: Peer) => void) | undefined;

  constructor(seed: number, address: IpEndpoint, settings: Partial<ConnectionSettings> = {}) {
    super('server', address, new SeededRandom(seed + 1000));
    this.#settings = settings;
  }

  get peer(): Peer | undefined {
    return this.#peer;
  }

  protected take(datagram: SentDatagram, now: number): void {
    this.#peer ??= this.#accept(datagram, now);
    this.#peer?.receive(datagram, now);
    // What was no client's packet, but a corrupted one, makes no connection.
    if (this.#peer?.connection.statistics().packetsReceived === 0) this.#peer = undefined;
  }

  #accept({ data, from, to }: SentDatagram, now: number): Peer | undefined {
    const header = new PacketHeader();
    const fault = readPacketHeader(data, 0, data.length, 8, header);
    if (fault !== undefined || header.type !== 0 || data.length < 1200) return undefined;
    const { destinationIdOffset, destinationIdSize, sourceIdOffset, sourceIdSize } = header;
    tls ??= makeTls();
    const connection = QuicCore.server({
      settings: { ...DEFAULT_SETTINGS, handshakeTimeout: 60_000, ...this.#settings },
      random: this.random,
      ids: new TestIds(this.random),
      remote: from,
      local: to,
      now,
      tls: tls.server,
      originalId: data.slice(destinationIdOffset, destinationIdOffset + destinationIdSize),
      clientId: data.slice(sourceIdOffset, sourceIdOffset + sourceIdSize),
      isValidated: false,
      trace: this.trace,
    });
    const peer = new Peer(connection, this.address, []);
    this.onAccept?.(peer);
    return peer;
  }
}
