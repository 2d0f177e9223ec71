import type { Role } from '../contract.ts';
import { initialKeys } from '../protection/initial-secrets.ts';
import { type KeyLimits, OneRttKeys } from '../protection/one-rtt-keys.ts';
import { PacketOpener, PacketSealer, type CipherSuite } from '../protection/packet-keys.ts';
import { Space } from '../recovery/space.ts';
import type { SecretDirection, TlsLevel } from './tls-handshake.ts';

/** The keys of all levels. Keys that were discarded are never installed again (RFC 9001 §4.9). */
export class ConnectionKeys implements Disposable {
  readonly oneRtt: OneRttKeys;
  readonly #sealers: (PacketSealer | undefined)[] = [undefined, undefined];
  readonly #openers: (PacketOpener | undefined)[] = [undefined, undefined];
  readonly #discarded = [false, false, false];

  /** @param limits replace those of the cipher suites, for tests. */
  constructor(limits?: KeyLimits) {
    this.oneRtt = new OneRttKeys(limits);
  }

  /** Derives the Initial keys; again after a Retry (RFC 9001 §5.2). */
  setInitial(destinationId: Uint8Array, role: Role): void {
    this.#dispose(Space.INITIAL);
    const { sealer, opener } = initialKeys(destinationId, role);
    this.#sealers[Space.INITIAL] = sealer;
    this.#openers[Space.INITIAL] = opener;
  }

  install(
    level: Exclude<TlsLevel, 'initial'>,
    direction: SecretDirection,
    suite: CipherSuite,
    secret: Uint8Array,
  ): void {
    if (level === 'application') {
      if (direction === 'read') this.oneRtt.installRead(suite, secret);
      else this.oneRtt.installWrite(suite, secret);
    } else if (direction === 'read') {
      this.#openers[Space.HANDSHAKE] = new PacketOpener(suite, secret);
    } else {
      this.#sealers[Space.HANDSHAKE] = new PacketSealer(suite, secret);
    }
  }

  canSeal(space: Space): boolean {
    return space === Space.APPLICATION ? this.oneRtt.canWrite : this.#sealers[space] !== undefined;
  }

  isDiscarded(space: Space): boolean {
    return this.#discarded[space] === true;
  }

  /** Returns the sealer of Initial or Handshake packets. */
  sealer(space: Space): PacketSealer | undefined {
    return this.#sealers[space];
  }

  /** Returns the opener of Initial or Handshake packets. */
  opener(space: Space): PacketOpener | undefined {
    return this.#openers[space];
  }

  discard(space: typeof Space.INITIAL | typeof Space.HANDSHAKE): void {
    this.#dispose(space);
    this.#discarded[space] = true;
  }

  [Symbol.dispose](): void {
    this.discard(Space.INITIAL);
    this.discard(Space.HANDSHAKE);
    this.oneRtt[Symbol.dispose]();
    this.#discarded[Space.APPLICATION] = true;
  }

  #dispose(space: typeof Space.INITIAL | typeof Space.HANDSHAKE): void {
    this.#sealers[space]?.[Symbol.dispose]();
    this.#openers[space]?.[Symbol.dispose]();
    this.#sealers[space] = undefined;
    this.#openers[space] = undefined;
  }
}
