import assert from 'node:assert/strict';
import { X25519PrivateKey } from '@weir/crypto/x25519';
import { copyEndpoint, toEndpoint, type IpEndpoint } from '@weir/base/ip';
import { MacWriter } from '../../../../packages/proxy/src/protocols/wireguard/handshake/cookies.ts';
import { createStaticKeys } from '../../../../packages/proxy/src/protocols/wireguard/handshake/noise.ts';
import type {
  TraceEvent,
  TunnelOutput,
  TunnelSettings,
} from '../../../../packages/proxy/src/protocols/wireguard/contract.ts';
import { Tunnel } from '../../../../packages/proxy/src/protocols/wireguard/tunnel.ts';
import {
  DataOffset,
  datagramSize,
  timestampAfter,
} from '../../../../packages/proxy/src/protocols/wireguard/wire.ts';
import { SeededRandom } from '../../simnet/seeded-random.ts';

export function endpoint(host: string, port: number): IpEndpoint {
  const made = toEndpoint(host, port);
  assert.ok(made);
  return made;
}

export interface SentDatagram {
  readonly bytes: Uint8Array;
  readonly from: IpEndpoint;
  readonly to: IpEndpoint;
}

const ROOM = 65_536;
/** Other bytes before and after a datagram, which stay as they are. */
const AROUND = 100;
const OTHER_BYTE = 0xa5;

/** A copy of the datagram of `length` bytes in memory, of which it may use `room`. */
function takenOut(buffer: Uint8Array, length: number, room = length): Uint8Array {
  const end = AROUND + room;
  for (const around of [buffer.subarray(0, AROUND), buffer.subarray(end, end + AROUND)]) {
    assert.ok(around.every((byte) => byte === OTHER_BYTE));
  }
  return Uint8Array.from(buffer.subarray(AROUND, AROUND + length));
}

/** Of all tunnels here, or more: padding needs no more room. */
const MTU = 65_000;

/** One end: a tunnel, and the datagrams that it has written. */
export class TunnelEnd implements TunnelOutput {
  readonly tunnel: Tunnel;
  readonly buffer = new Uint8Array(ROOM);
  readonly sent: SentDatagram[] = [];
  readonly received: Uint8Array[] = [];
  readonly trace: TraceEvent[] = [];
  address: IpEndpoint;
  isFull = false;
  #reserved = 0;

  constructor(tunnel: (end: TunnelEnd) => Tunnel, address: IpEndpoint) {
    this.address = address;
    this.tunnel = tunnel(this);
  }

  reserve(bytes: number): number {
    if (this.isFull || bytes > ROOM - 2 * AROUND) return -1;
    this.buffer.fill(OTHER_BYTE, 0, AROUND + bytes + AROUND);
    this.#reserved = bytes;
    return AROUND;
  }

  commit(length: number, destination: IpEndpoint): void {
    assert.ok(length <= this.#reserved);
    const bytes = takenOut(this.buffer, length, this.#reserved);
    this.sent.push({ bytes, from: this.address, to: copyEndpoint(destination) });
  }

  /** What was dropped, by reason. */
  get drops(): string[] {
    return this.trace.flatMap((event) => (event.kind === 'dropped' ? [event.reason] : []));
  }

  /** How often a kind of message was sent. */
  count(what: string): number {
    return this.trace.filter((event) => event.kind === 'sent' && event.what === what).length;
  }

  get sessions(): number {
    return this.trace.filter(({ kind }) => kind === 'session').length;
  }
}

export interface PairOptions {
  readonly left?: Partial<TunnelSettings>;
  readonly right?: Partial<TunnelSettings>;
  readonly presharedKeys?: readonly [number, number];
  readonly seed?: number;
  /** Whether the ends report their events; they do by default. */
  readonly isTraced?: boolean;
}

const SETTINGS: TunnelSettings = { mtu: 1420, keepalive: 0, reserved: undefined };

/** Two tunnels to each other, in time and over a path that a test moves by hand. */
export class TunnelPair {
  readonly left: TunnelEnd;
  readonly right: TunnelEnd;
  now = 1000;
  /** Of Unix time, when `now` is 0. */
  wall = Date.UTC(2026, 0, 1);
  /** Whether a datagram arrives; all when undefined. */
  passes: ((datagram: SentDatagram) => boolean) | undefined;
  readonly #options: PairOptions;
  #seed: number;

  constructor(options: PairOptions = {}) {
    this.#options = options;
    this.#seed = options.seed ?? 1;
    const [left, right] = [endpoint('192.0.2.1', 1111), endpoint('192.0.2.2', 2222)];
    this.left = this.#end(1, 2, left, right, options.left, options.presharedKeys?.[0]);
    this.right = this.#end(2, 1, right, left, options.right, options.presharedKeys?.[1]);
  }

  /** An end with the keys and the address of the right one that knows nothing of what was before. */
  restartedRight(): TunnelEnd {
    const { right } = this.#options;
    return this.#end(2, 1, this.right.address, this.left.address, right, undefined);
  }

  /** Sends a packet of so many bytes, or of these. */
  send(end: TunnelEnd, packet: number | Uint8Array): void {
    const bytes = typeof packet === 'number' ? new Uint8Array(packet).fill(0x45) : packet;
    // A Buffer, as sockets have: its `slice` does not copy.
    const room = datagramSize(bytes.length, MTU);
    const buffer = Buffer.alloc(AROUND + room + AROUND, OTHER_BYTE);
    buffer.set(bytes, AROUND + DataOffset.packet);
    const length = end.tunnel.send(buffer, AROUND, bytes.length, this.now);
    if (length > 0) {
      end.sent.push({
        bytes: takenOut(buffer, length, room),
        from: end.address,
        to: copyEndpoint(end.tunnel.endpoint),
      });
    }
    buffer.fill(0xdb);
    end.tunnel.transmit(this.now, end);
  }

  /** Delivers all that is under way, and the responses to it, until there is no more. */
  deliver(left = this.left, right = this.right): void {
    while (left.sent.length > 0 || right.sent.length > 0) {
      for (const datagram of left.sent.splice(0)) this.arrive(right, datagram);
      for (const datagram of right.sent.splice(0)) this.arrive(left, datagram);
    }
  }

  /** Delivers what is under way to one end. */
  deliverTo(side: 'left' | 'right'): void {
    const other = side === 'left' ? this.right : this.left;
    for (const datagram of other.sent.splice(0)) this.arrive(this[side], datagram);
  }

  /** One datagram arrives, unless the path drops it. */
  arrive(at: TunnelEnd, datagram: SentDatagram): void {
    if (this.passes?.(datagram) === false) return;
    const bytes = Buffer.from(datagram.bytes);
    const length = at.tunnel.receive(bytes, 0, bytes.length, datagram.from, this.now);
    if (length > 0) {
      at.received.push(
        Uint8Array.from(bytes.subarray(DataOffset.packet, DataOffset.packet + length)),
      );
    }
    bytes.fill(0xdb);
    at.tunnel.transmit(this.now, at);
  }

  /** Moves time on, from deadline to deadline, and delivers what is sent. */
  advance(milliseconds: number, left = this.left, right = this.right): void {
    const until = this.now + milliseconds;
    for (;;) {
      this.deliver(left, right);
      const next = Math.min(left.tunnel.nextTimeout(), right.tunnel.nextTimeout());
      if (next > until) break;
      this.now = Math.max(this.now, next);
      for (const end of [left, right]) {
        if (end.tunnel.nextTimeout() > this.now) continue;
        end.tunnel.onTimeout(this.now);
        end.tunnel.transmit(this.now, end);
        assert.ok(end.tunnel.nextTimeout() > this.now, 'a deadline stays in the past');
      }
    }
    this.now = until;
  }

  #end(
    own: number,
    peer: number,
    address: IpEndpoint,
    to: IpEndpoint,
    settings: Partial<TunnelSettings> = {},
    presharedKey?: number,
  ): TunnelEnd {
    const key = (octet: number): Uint8Array => new Uint8Array(32).fill(octet);
    const psk = presharedKey === undefined ? undefined : key(presharedKey);
    const staticKeys = createStaticKeys(key(own), new X25519PrivateKey(key(peer)).publicKey, psk);
    assert.ok(staticKeys);
    let last: Uint8Array | undefined;
    return new TunnelEnd(
      (end) =>
        new Tunnel({
          staticKeys,
          endpoint: to,
          settings: { ...SETTINGS, ...settings },
          random: new SeededRandom(this.#seed++),
          timestamp: () => (last = timestampAfter(last, this.wall + this.now)),
          now: this.now,
          ...(this.#options.isTraced !== false && { trace: (event) => end.trace.push(event) }),
        }),
      address,
    );
  }
}

/** The events that an end has queued. */
export const eventsOf = (end: TunnelEnd): string[] => {
  const found: string[] = [];
  for (let next = end.tunnel.nextEvent(); next; next = end.tunnel.nextEvent()) found.push(next);
  return found;
};

/** The next message of an end, taken from the path. */
export function takenFrom(end: TunnelEnd): SentDatagram {
  const next = end.sent.shift();
  assert.ok(next);
  return next;
}

/** A pair with a session that the left end has begun, and a packet delivered each way. */
export function connectedPair(options?: PairOptions): TunnelPair {
  const pair = new TunnelPair(options);
  for (const end of [pair.left, pair.right]) {
    pair.send(end, 100);
    pair.deliver();
  }
  return pair;
}

/** Initiations with a valid code, to the right end, by a sender that knows nothing but its public key. */
export function floodRight(pair: TunnelPair, count: number): void {
  const macs = new MacWriter(new X25519PrivateKey(new Uint8Array(32).fill(2)).publicKey);
  const from = endpoint('203.0.113.7', 7);
  for (let index = 0; index < count; index++) {
    const bytes = new Uint8Array(148).fill(index, 4, 116);
    bytes[0] = 1;
    macs.write(bytes, pair.now);
    pair.arrive(pair.right, { bytes, from, to: pair.right.address });
  }
}
