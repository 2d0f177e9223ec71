import { hmacSha256 } from '../../crypto/keyed-hash.ts';
import type { RandomSource } from '../../crypto/random-source.ts';

const SECRET_BYTES = 32;
/** The clock of initial sequence numbers: one step in 4 microseconds (RFC 6528 §3). */
const STEPS_PER_MILLISECOND = 250;
const SEQUENCE_NUMBERS = 2 ** 32;

const PURPOSE_SEQUENCE = 0;
const PURPOSE_TIMESTAMP = 1;

/** The two ends of a connection; addresses are 4 or 16 bytes. */
export interface ConnectionEnds {
  readonly localAddress: Uint8Array;
  readonly localPort: number;
  readonly remoteAddress: Uint8Array;
  readonly remotePort: number;
}

/**
 * First sequence numbers and timestamps that others cannot guess, and that go on where an earlier
 * connection between the same ends stopped (RFC 6528 §3, RFC 7323 §5.4).
 */
export class InitialSequences {
  readonly #secret: Uint8Array;

  constructor(random: RandomSource) {
    this.#secret = random.bytes(SECRET_BYTES);
  }

  /** ISN = M + F(localip, localport, remoteip, remoteport, secretkey). */
  sequence(ends: ConnectionEnds, now: number): number {
    const { localAddress, localPort, remoteAddress, remotePort } = ends;
    const clock = Math.floor(now * STEPS_PER_MILLISECOND) % SEQUENCE_NUMBERS;
    const hash = this.#hash(PURPOSE_SEQUENCE, localAddress, localPort, remoteAddress, remotePort);
    return (clock + hash) >>> 0;
  }

  /**
   * What is added to the clock in timestamps. It depends on the addresses alone, so that timestamps grow
   * from one connection to the next: a peer in TIME-WAIT may then reuse its ports (RFC 6191).
   */
  timestampOffset(ends: ConnectionEnds): number {
    return this.#hash(PURPOSE_TIMESTAMP, ends.localAddress, 0, ends.remoteAddress, 0);
  }

  #hash(
    purpose: number,
    local: Uint8Array,
    localPort: number,
    remote: Uint8Array,
    remotePort: number,
  ): number {
    const message = new Uint8Array(5 + local.length + remote.length);
    const view = new DataView(message.buffer);
    view.setUint8(0, purpose);
    view.setUint16(1, localPort);
    view.setUint16(3, remotePort);
    message.set(local, 5);
    message.set(remote, 5 + local.length);
    const hash = hmacSha256(this.#secret, message);
    return new DataView(hash.buffer, hash.byteOffset).getUint32(0);
  }
}
