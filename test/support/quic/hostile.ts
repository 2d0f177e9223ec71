import assert from 'node:assert/strict';
import { OneRttForger } from './forge.ts';
import { CLIENT_ADDRESS, Pair, SERVER_ADDRESS, type PairOptions } from './pair.ts';
import { OpenClientTls } from './secrets.ts';

/** Far above every number that the honest part of the client has used. */
const FIRST_FORGED = 10_000;

/**
 * A server whose client has turned hostile after the handshake: it sends any frames in correctly
 * sealed packets, and says nothing else any more.
 */
export class HostileClient {
  readonly pair: Pair;
  readonly #forger: OneRttForger;

  constructor(options: PairOptions = {}) {
    const tls = new OpenClientTls();
    this.pair = new Pair({ ...options, clientTls: tls }).connect();
    this.pair.advance(3000);
    this.pair.passes = () => false;
    const secret = tls.secrets.get('application write');
    assert.ok(secret);
    const [id] = this.pair.serverIds.live;
    assert.ok(id !== undefined);
    const { suite, bytes } = secret;
    this.#forger = new OneRttForger(suite, bytes, Buffer.from(id, 'hex'), FIRST_FORGED);
  }

  /** Sends a packet with these frames; the server responds to it, into the void. */
  send(frames: Uint8Array, reserved = 0): void {
    const { pair } = this;
    const data = this.#forger.seal(frames, reserved);
    const datagram = { data, from: CLIENT_ADDRESS, to: SERVER_ADDRESS, ecn: 0 } as const;
    pair.server.receive(datagram, pair.now);
    pair.flush();
  }

  /** The transport error code with which the server has closed; `undefined` while it has not. */
  get code(): number | undefined {
    const { closeReason } = this.pair.server.connection;
    return closeReason?.kind === 'transport' && closeReason.by === 'self'
      ? closeReason.code
      : undefined;
  }
}
