import { asError } from '@weir/base';
import { costOfDatagram, MAX_UNSENT_BYTES } from '@weir/io/bounds';
import type { ByteLink } from '@weir/io/links';

/** Bytes of queued control frames beyond which the carrier is not read. */
const MAX_CONTROL_BYTES = 16 * 1024;

/** A write that waits for its turn. */
interface Turn {
  readonly owner: object;
  readonly pieces: readonly Uint8Array[];
  readonly sent: PromiseWithResolvers<void> | undefined;
}

/**
 * The send queue of a carrier. While the carrier is full, each flow has at most one write waiting,
 * and flows take turns, so that none waits for more than one write of each other flow.
 */
export class Outlet {
  readonly #link: ByteLink;
  readonly #onFailure: (error: Error) => void;
  #turns: Turn[] = [];
  #control: Uint8Array[] = [];
  #controlBytes = 0;
  #datagramBytes = 0;
  #full = false;
  #room: PromiseWithResolvers<void> | undefined;
  #emptied: PromiseWithResolvers<void> | undefined;
  #failure: Error | undefined;

  /** @param onFailure called once, when the carrier has failed. */
  constructor(link: ByteLink, onFailure: (error: Error) => void) {
    this.#link = link;
    this.#onFailure = onFailure;
  }

  /** Sends chunks in the flow's turn; returns a promise if it has to wait. Rejects if the carrier has failed. */
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

  /** Sends or queues a datagram; returns false when there is no room for it. */
  offer(owner: object, pieces: readonly Uint8Array[]): boolean {
    if (this.#failure) return false;
    if (!this.#full) {
      this.#put(pieces);
      return true;
    }
    if (this.#datagramBytes >= MAX_UNSENT_BYTES) return false;
    this.#datagramBytes += costOf(pieces);
    this.#turns.push({ owner, pieces, sent: undefined });
    return true;
  }

  /** Sends a control frame before all waiting writes. */
  sendControl(frame: Uint8Array): void {
    if (this.#failure) return;
    if (!this.#full) {
      this.#put([frame]);
      return;
    }
    this.#control.push(frame);
    this.#controlBytes += frame.length;
  }

  /** Removes the waiting writes of a flow, which reject with `cause`. */
  forget(owner: object, cause: Error): void {
    const mine = this.#turns.filter((turn) => turn.owner === owner);
    if (mine.length === 0) return;
    this.#turns = this.#turns.filter((turn) => turn.owner !== owner);
    for (const turn of mine) this.#drop(turn, cause);
  }

  /** Returns a promise that is pending while the queue of control frames is full, since reading may add more. */
  room(): Promise<void> | undefined {
    if (this.#failure || this.#controlBytes < MAX_CONTROL_BYTES) return undefined;
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  /** Resolves, never rejects, when the queue is empty or the carrier has failed. */
  emptied(): Promise<void> {
    if (!this.#full || this.#failure) return Promise.resolve();
    this.#emptied ??= Promise.withResolvers<void>();
    return this.#emptied.promise;
  }

  /** Rejects all waiting writes; nothing is sent afterwards. */
  end(cause: Error): void {
    if (this.#failure) return;
    this.#failure = cause;
    const turns = this.#turns;
    this.#turns = [];
    this.#control = [];
    for (const turn of turns) this.#drop(turn, cause);
    this.#room?.resolve();
    this.#emptied?.resolve();
  }

  #put(pieces: readonly Uint8Array[]): void {
    const full = this.#link.writeOutput(pieces);
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
    if (this.#control.length > 0) {
      const frames = this.#control;
      this.#control = [];
      this.#controlBytes = 0;
      this.#put(frames);
    }
    this.#room?.resolve();
    this.#room = undefined;
    while (!this.#full) {
      const turn = this.#turns.shift();
      if (!turn) break;
      this.#put(turn.pieces);
      if (turn.sent) turn.sent.resolve();
      else this.#datagramBytes -= costOf(turn.pieces);
    }
    if (this.#full) return;
    this.#emptied?.resolve();
    this.#emptied = undefined;
  }

  #fail(error: Error): void {
    if (this.#failure) return;
    this.end(error);
    this.#onFailure(error);
  }

  #drop({ sent, pieces }: Turn, cause: Error): void {
    if (!sent) {
      this.#datagramBytes -= costOf(pieces);
      return;
    }
    // The next write fails as well; a wait that no writer awaits must not be unhandled.
    sent.promise.catch(() => undefined);
    sent.reject(cause);
  }
}

/** Returns the memory of a datagram in pieces, in bytes. */
const costOf = (pieces: readonly Uint8Array[]): number =>
  costOfDatagram(pieces.reduce((bytes, piece) => bytes + piece.length, 0));
