import { sha256 } from '@weir/crypto/hash';
import type { RandomSource } from '@weir/base/random';
import type { IpEndpoint } from '@weir/base/ip';
import { readUint32 } from '@weir/base/bytes';

const SECRET_BYTES = 32;
/** M, the clock of initial sequence numbers: one step every 4 microseconds (RFC 6528 §3). */
const STEPS_PER_MILLISECOND = 250;
const SEQUENCE_NUMBERS = 2 ** 32;

const PURPOSE_SEQUENCE = 0;
const PURPOSE_TIMESTAMP = 1;

/** Offsets in the message: the secret, a purpose, two addresses, two ports. */
const PURPOSE = SECRET_BYTES;
const LOCAL = PURPOSE + 1;
const REMOTE = LOCAL + 16;
const PORTS = REMOTE + 16;

/**
 * Initial sequence numbers and timestamp offsets that an attacker cannot guess, and that increase from one
 * connection between the same endpoints to the next (RFC 6528 §3, RFC 7323 §5.4).
 *
 * F is SHA-256 over the secret and a message of fixed length: two hashes for each SYN of a flood, where HMAC
 * would take four and its setup. The length extension that HMAC prevents is not possible: the length is fixed,
 * and only 32 bits of the hash are visible.
 */
export class InitialSequences {
  readonly #message = new Uint8Array(PORTS + 4);
  readonly #view = new DataView(this.#message.buffer);

  constructor(random: RandomSource) {
    this.#message.set(random.bytes(SECRET_BYTES));
  }

  /** ISN = M + F(localip, localport, remoteip, remoteport, secretkey). */
  sequence(local: IpEndpoint, remote: IpEndpoint, now: number): number {
    const clock = Math.floor(now * STEPS_PER_MILLISECOND) % SEQUENCE_NUMBERS;
    return (clock + this.#hash(PURPOSE_SEQUENCE, local, local.port, remote, remote.port)) >>> 0;
  }

  /**
   * Returns the offset of timestamps to the clock. It depends on the addresses only, so that timestamps increase from
   * one connection to the next, and a peer in TIME-WAIT accepts the reuse of its ports (RFC 6191).
   */
  timestampOffset(local: IpEndpoint, remote: IpEndpoint): number {
    return this.#hash(PURPOSE_TIMESTAMP, local, 0, remote, 0);
  }

  #hash(
    purpose: number,
    local: IpEndpoint,
    localPort: number,
    remote: IpEndpoint,
    remotePort: number,
  ): number {
    const view = this.#view;
    view.setUint8(PURPOSE, purpose);
    this.#writeAddress(LOCAL, local);
    this.#writeAddress(REMOTE, remote);
    view.setUint16(PORTS, localPort);
    view.setUint16(PORTS + 2, remotePort);
    return readUint32(sha256(this.#message), 0);
  }

  #writeAddress(at: number, { a, b, c, d }: IpEndpoint): void {
    const view = this.#view;
    view.setInt32(at, a);
    view.setInt32(at + 4, b);
    view.setInt32(at + 8, c);
    view.setInt32(at + 12, d);
  }
}
