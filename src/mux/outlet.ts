import { asError } from '../errors.ts';
import type { ByteLink } from '../net/link.ts';

/** Bytes of short frames that may wait before the peer is no longer read. */
const MAX_URGENT = 16 * 1024;
/** Bytes of datagrams that may wait; beyond it they are dropped. */
const MAX_DATAGRAMS = 256 * 1024;

/** Pieces that wait for their turn. */
interface Turn {
  readonly owner: object;
  readonly pieces: readonly Uint8Array[];
  readonly sent: PromiseWithResolvers<void> | undefined;
}

/**
 * The way out of a carrier that many flows share. While the carrier is full every flow waits with
 * one write at most, and they take turns, so that no flow has to wait for more than the others.
 */
export class Outlet {
  readonly #link: ByteLink;
  readonly #onFailure: (error: Error) => void;
  #turns: Turn[] = [];
  #urgent: Uint8Array[] = [];
  #urgentBytes = 0;
  #datagramBytes = 0;
  #full = false;
  #room: PromiseWithResolvers<void> | undefined;
  #failure: Error | undefined;

  /** @param onFailure told once, when the carrier takes nothing more. */
  constructor(link: ByteLink, onFailure: (error: Error) => void) {
    this.#link = link;
    this.#onFailure = onFailure;
  }

  /** Sends pieces in their turn; a promise when that is later. Rejects when the carrier failed. */
  write(owner: object, pieces: readonly Uint8Array[]): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#failure);
    if (!this.#full) {
      this.#put(pieces);
      return undefined;
    }
    const sent = Promise.withResolvers<void>();
    this.#turns.push({ owner, pieces, sent });
    return sent.promise;
  }

  /** Sends a datagram, or keeps it, or tells that there is no room for it. */
  offer(owner: object, pieces: readonly Uint8Array[]): boolean {
    if (this.#failure) return false;
    if (!this.#full) {
      this.#put(pieces);
      return true;
    }
    if (this.#datagramBytes >= MAX_DATAGRAMS) return false;
    this.#datagramBytes += lengthOf(pieces);
    this.#turns.push({ owner, pieces, sent: undefined });
    return true;
  }

  /** Sends a short frame before everything that waits. */
  urge(frame: Uint8Array): void {
    if (this.#failure) return;
    if (!this.#full) {
      this.#put([frame]);
      return;
    }
    this.#urgent.push(frame);
    this.#urgentBytes += frame.length;
  }

  /** Forgets what a flow still has waiting; its writes reject with `cause`. */
  forget(owner: object, cause: Error): void {
    const mine = this.#turns.filter((turn) => turn.owner === owner);
    if (mine.length === 0) return;
    this.#turns = this.#turns.filter((turn) => turn.owner !== owner);
    for (const turn of mine) this.#drop(turn, cause);
  }

  /** Waits while so much waits for the peer that it must not be given cause for more. */
  room(): Promise<void> | undefined {
    if (this.#failure || this.#urgentBytes < MAX_URGENT) return undefined;
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  /** Ends everything that waits; nothing is sent any more. */
  end(cause: Error): void {
    if (this.#failure) return;
    this.#failure = cause;
    const turns = this.#turns;
    this.#turns = [];
    this.#urgent = [];
    for (const turn of turns) this.#drop(turn, cause);
    this.#room?.resolve();
  }

  #put(pieces: readonly Uint8Array[]): void {
    const full = this.#link.writeAll(pieces);
    if (!full) return;
    this.#full = true;
    full.then(
      () => this.#drained(),
      (error: unknown) => this.#fail(asError(error)),
    );
  }

  #drained(): void {
    this.#full = false;
    if (this.#failure) return;
    if (this.#urgent.length > 0) {
      const urgent = this.#urgent;
      this.#urgent = [];
      this.#urgentBytes = 0;
      this.#put(urgent);
    }
    this.#room?.resolve();
    this.#room = undefined;
    while (!this.#full) {
      const turn = this.#turns.shift();
      if (!turn) return;
      this.#put(turn.pieces);
      if (turn.sent) turn.sent.resolve();
      else this.#datagramBytes -= lengthOf(turn.pieces);
    }
  }

  #fail(error: Error): void {
    if (this.#failure) return;
    this.end(error);
    this.#onFailure(error);
  }

  #drop({ sent, pieces }: Turn, cause: Error): void {
    if (!sent) {
      this.#datagramBytes -= lengthOf(pieces);
      return;
    }
    // Whoever writes next learns of it as well; a wait that nobody awaits must not be unhandled.
    sent.promise.catch(() => undefined);
    sent.reject(cause);
  }
}

const lengthOf = (pieces: readonly Uint8Array[]): number =>
  pieces.reduce((bytes, piece) => bytes + piece.length, 0);
