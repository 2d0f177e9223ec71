import assert from 'node:assert/strict';
import type { IpEndpoint } from '../../../src/ip/ip-endpoint.ts';
import { OneRttForger } from './forge.ts';
import {
  CLIENT_ADDRESS,
  ConnectionPair,
  SERVER_ADDRESS,
  type PairOptions,
} from './connection-pair.ts';
import type { Peer } from './peer.ts';
import { OpenClientTls } from './secrets.ts';

/** Far above every number that the honest part of a connection has used. */
const FIRST_FORGED = 10_000;

/**
 * A pair of which one side has turned hostile after the handshake: it sends any frames in correctly
 * sealed packets, and nothing else any more. What the other side sends goes into the void.
 */
export class Hostile {
  readonly pair: ConnectionPair;
  readonly #role: 'client' | 'server';
  readonly #forger: OneRttForger;

  /** @param role of the hostile side. */
  constructor(role: 'client' | 'server' = 'client', options: PairOptions = {}) {
    const tls = new OpenClientTls();
    this.#role = role;
    this.pair = new ConnectionPair({ ...options, clientTls: tls }).connect();
    this.pair.advance(3000);
    this.pair.passes = () => false;
    const secret = tls.secrets.get(role === 'client' ? 'application write' : 'application read');
    assert.ok(secret);
    const [id] = (role === 'client' ? this.pair.serverIds : this.pair.clientIds).live;
    assert.ok(id !== undefined);
    const { suite, bytes } = secret;
    this.#forger = new OneRttForger(suite, bytes, Buffer.from(id, 'hex'), FIRST_FORGED);
  }

  /** The side under attack. */
  get victim(): Peer {
    return this.#role === 'client' ? this.pair.server : this.pair.client;
  }

  get #addresses(): readonly [IpEndpoint, IpEndpoint] {
    return this.#role === 'client'
      ? [CLIENT_ADDRESS, SERVER_ADDRESS]
      : [SERVER_ADDRESS, CLIENT_ADDRESS];
  }

  /** Sends a packet with these frames; the victim responds. @param reserved bits to set in the header. */
  send(frames: Uint8Array, reserved = 0): void {
    const { pair } = this;
    const data = this.#forger.seal(frames, reserved);
    const [from, to] = this.#addresses;
    this.victim.receive({ data, from, to, ecn: 0 }, pair.now);
    pair.flush();
  }

  /** Sends as many packets with these frames, which arrive in one turn of the victim's event loop. */
  flood(frames: Uint8Array, packets: number): void {
    const [from, to] = this.#addresses;
    const datagrams = Array.from({ length: packets }, () => {
      const data = this.#forger.seal(frames);
      return { data, from, to, ecn: 0 } as const;
    });
    this.victim.receiveBatch(datagrams, this.pair.now);
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
