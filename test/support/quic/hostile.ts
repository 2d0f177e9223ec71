import assert from 'node:assert/strict';
import type { Ecn, IpEndpoint } from '@weir/base/ip';
import { writeVarint } from '@weir/quic/varint';
import { OneRttForger } from './forge.ts';
import { CLIENT_ADDRESS, Pair, SERVER_ADDRESS, type PairOptions } from './pair.ts';
import type { Peer } from './peer.ts';
import { OpenTls } from './open-tls.ts';
import { testClientTls } from './tls.ts';

let clientTls: ReturnType<typeof testClientTls> | undefined;

/** A frame of a type and numbers, and bytes behind them. */
export function frame(
  type: number,
  numbers: readonly number[] = [],
  bytes: readonly number[] = [],
): Buffer {
  const out = Buffer.alloc(1 + 8 * numbers.length + bytes.length);
  let at = writeVarint(out, 0, type);
  for (const number of numbers) at = writeVarint(out, at, number);
  out.set(bytes, at);
  return out.subarray(0, at + bytes.length);
}

/** Far above every number that the honest part of a connection has used. */
const FIRST_FORGED = 10_000;

/**
 * A pair of which one side has turned hostile after the handshake: it sends any frames in correctly
 * sealed packets, and nothing else any more. What the other side sends goes into the void.
 */
export class Hostile {
  readonly pair: Pair;
  readonly #role: 'client' | 'server';
  readonly forger: OneRttForger;

  /** @param role of the hostile side. */
  constructor(role: 'client' | 'server' = 'client', options: PairOptions = {}) {
    const tls = new OpenTls((clientTls ??= testClientTls()));
    this.#role = role;
    this.pair = new Pair({ watch: 'opened', ...options, clientTls: tls }).connect();
    this.pair.advance(3000);
    this.pair.passes = () => false;
    this.#taken = this.pair.tap.packets.length;
    const secret = tls.secrets.get(role === 'client' ? 'application write' : 'application read');
    assert.ok(secret);
    const [id] = (role === 'client' ? this.pair.serverIds : this.pair.clientIds).live;
    assert.ok(id !== undefined);
    const { suite, bytes } = secret;
    this.forger = new OneRttForger(suite, bytes, Buffer.from(id, 'hex'), FIRST_FORGED);
  }

  /** The side under attack. */
  get victim(): Peer {
    return this.#role === 'client' ? this.pair.server : this.pair.client;
  }

  #taken = 0;

  get #addresses(): readonly [IpEndpoint, IpEndpoint] {
    return this.#role === 'client'
      ? [CLIENT_ADDRESS, SERVER_ADDRESS]
      : [SERVER_ADDRESS, CLIENT_ADDRESS];
  }

  /** Sends a packet with these frames; the victim responds. @param reserved bits to set in the header. */
  send(
    frames: Uint8Array,
    {
      reserved = 0,
      ecn = 0,
      from = this.#addresses[0],
    }: { reserved?: number; ecn?: Ecn; from?: IpEndpoint } = {},
  ): void {
    const data = this.forger.seal(frames, reserved);
    this.victim.receive({ data, from, to: this.#addresses[1], ecn }, this.pair.now);
    this.pair.flush();
  }

  /** Sends as many packets with these frames, which arrive in one turn of the victim's event loop. */
  flood(frames: Uint8Array, packets: number): void {
    const [from, to] = this.#addresses;
    const datagrams = Array.from({ length: packets }, () => {
      const data = this.forger.seal(frames);
      return { data, from, to, ecn: 0 } as const;
    });
    this.victim.receiveBatch(datagrams, this.pair.now);
  }

  /** Frames of these names, or of all, that the victim has sent since the last call, as text. */
  take(...names: readonly string[]): string[] {
    const from = this.#role === 'client' ? 'server' : 'client';
    const { tap } = this.pair;
    const text = tap.text(from, names, this.#taken);
    this.#taken = tap.packets.length;
    return text;
  }

  /** The transport error code with which the victim has closed; `undefined` while it has not. */
  get code(): number | undefined {
    const { closeReason } = this.victim.connection;
    return closeReason?.kind === 'transport' && closeReason.by === 'self'
      ? closeReason.code
      : undefined;
  }

  /** The transport error code of the CONNECTION_CLOSE that the other side has received. Datagrams have to pass. */
  get received(): number | undefined {
    const other = this.#role === 'client' ? this.pair.client : this.pair.server;
    const { closeReason } = other.connection;
    return closeReason?.kind === 'transport' && closeReason.by === 'peer'
      ? closeReason.code
      : undefined;
  }
}
