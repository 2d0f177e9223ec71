/*
 * The constants of whitepaper §6 under their names, and the deadlines of a tunnel. Times are in
 * milliseconds.
 */

/**
 * Messages after which a session is replaced, and after which it is no longer used. The whitepaper has
 * 2^60 and 2^64 - 2^13 - 1: counters here are safe integers, and no session lasts long enough to send as
 * many messages.
 */
export const REKEY_AFTER_MESSAGES = 2 ** 52;
export const REJECT_AFTER_MESSAGES = 2 ** 53 - 2 ** 13 - 1;
/** Age at which an initiator that sends begins to replace a session. */
export const REKEY_AFTER_TIME = 120_000;
/** Age beyond which a session is not used, in either direction. */
export const REJECT_AFTER_TIME = 180_000;
/** For so long initiations are sent for packets that wait. */
export const REKEY_ATTEMPT_TIME = 90_000;
/** Between two initiations. */
export const REKEY_TIMEOUT = 5_000;
/** After a packet has come, something is sent within this time, if only a keep-alive. */
export const KEEPALIVE_TIMEOUT = 10_000;

/** A random part of a retry, below it, so that two peers do not go on meeting (§6.1). */
export const MAX_JITTER = 334;

/** Everything secret that changes is erased after so long without a new session (§6.3). */
export const ERASE_AFTER_TIME = 3 * REJECT_AFTER_TIME;

/** Age at which an initiator that only receives begins to replace a session (§6.2). */
export const REKEY_ON_RECEIPT_TIME = REJECT_AFTER_TIME - KEEPALIVE_TIMEOUT - REKEY_TIMEOUT;

export type DeadlineName =
  /** The next initiation of the handshake that is under way. */
  | 'initiation'
  /** A keep-alive, since the peer's packets have had no response (§6.5). */
  | 'keepalive'
  /** A new handshake, since nothing has come for what was sent (§6.5). */
  | 'silence'
  /** A packet for those that keep track of the path, as configured. */
  | 'persistent'
  /** Everything secret that changes is erased. */
  | 'erase';

/** Named points in time; Infinity for those that are not set. */
export class Deadlines {
  readonly #at: Record<DeadlineName, number> = {
    initiation: Infinity,
    keepalive: Infinity,
    silence: Infinity,
    persistent: Infinity,
    erase: Infinity,
  };

  isSet(name: DeadlineName): boolean {
    return this.#at[name] !== Infinity;
  }

  set(name: DeadlineName, at: number): void {
    this.#at[name] = at;
  }

  clear(name: DeadlineName): void {
    this.#at[name] = Infinity;
  }

  clearAll(): void {
    for (const name of ['initiation', 'keepalive', 'silence', 'persistent', 'erase'] as const) {
      this.#at[name] = Infinity;
    }
  }

  /** Whether it is due. */
  isDue(name: DeadlineName, now: number): boolean {
    return now >= this.#at[name];
  }

  /** Whether it is due; then it is cleared. */
  take(name: DeadlineName, now: number): boolean {
    if (now < this.#at[name]) return false;
    this.#at[name] = Infinity;
    return true;
  }

  /** The earliest. */
  get next(): number {
    const at = this.#at;
    return Math.min(at.initiation, at.keepalive, at.silence, at.persistent, at.erase);
  }
}
