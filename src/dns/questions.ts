import { messageOf } from '../errors.ts';
import type { Clock } from '../net/clock.ts';
import { Deadline } from '../net/deadline.ts';
import { abortedDial, DialError } from '../net/errors.ts';
import type { DnsAnswer, DnsBackend } from './backend.ts';
import type { AddressType } from './policy.ts';
import { unlessAborted } from '../net/unless-aborted.ts';

/** Questions under way at once; further ones are refused. */
const MAX_QUESTIONS = 2048;
/** All tries of one question together. */
const QUESTION_MS = 10_000;

/** How one question ended. */
export type Outcome =
  | { readonly addresses: readonly string[]; readonly error?: undefined }
  | { readonly addresses?: undefined; readonly error: DialError };

/** A question under way. */
export interface PendingQuestion {
  /** Never rejects. */
  readonly outcome: Promise<Outcome>;
  /** One that waited has left: what only that one waited for is not asked any longer. */
  leave(): void;
}

/** What to do with the end of a question. */
export interface QuestionEnds {
  /** Takes the answer, and returns what is used of it. */
  answered(name: string, type: AddressType, answer: DnsAnswer): readonly string[];
  failed(name: string, type: AddressType, error: DialError): void;
  /** No question is left. */
  idle(): void;
}

/**
 * The questions that a backend is asked now: identical ones once, each with a deadline, all of them
 * bounded.
 *
 * One client may have as many questions under way as are still free, so that it alone never takes
 * more than half, and others find room whatever it asks.
 */
export class Questions {
  readonly #backend: DnsBackend;
  readonly #clock: Clock;
  readonly #ends: QuestionEnds;
  readonly #closing = new AbortController();
  readonly #pending = new Map<string, SharedQuestion>();
  readonly #ofClient = new Map<string, number>();

  constructor(backend: DnsBackend, clock: Clock, ends: QuestionEnds) {
    this.#backend = backend;
    this.#clock = clock;
    this.#ends = ends;
  }

  get size(): number {
    return this.#pending.size;
  }

  /**
   * Asks, or waits with those who have asked already.
   *
   * @param client who asks: questions without one are those of the configuration.
   */
  ask(name: string, type: AddressType, client: string | undefined): PendingQuestion {
    const key = `${type} ${name}`;
    let question = this.#pending.get(key);
    if (!question) {
      if (!this.#hasRoom(client)) return refused(name);
      question = this.#start(key, name, type, client);
      this.#pending.set(key, question);
    }
    question.join();
    return question;
  }

  /** Ends every question now. */
  abort(cause: DialError): void {
    this.#closing.abort(cause);
  }

  #hasRoom(client: string | undefined): boolean {
    const free = MAX_QUESTIONS - this.#pending.size;
    return free > 0 && (client === undefined || (this.#ofClient.get(client) ?? 0) < free);
  }

  #start(key: string, name: string, type: AddressType, client: string | undefined): SharedQuestion {
    const deadline = new Deadline(
      this.#clock,
      QUESTION_MS,
      'resolving the name',
      this.#closing.signal,
    );
    this.#count(client, 1);
    let over = false;
    const end = (): void => {
      if (over) return;
      over = true;
      deadline[Symbol.dispose]();
      this.#count(client, -1);
      this.#pending.delete(key);
      if (this.#pending.size === 0) this.#ends.idle();
    };
    const outcome = this.#outcome(name, type, deadline.signal).finally(end);
    return new SharedQuestion(outcome, () => {
      deadline.abort(new DialError('aborted', 'no client waits for the name any longer'));
      // At once: one that comes now asks anew.
      end();
    });
  }

  async #outcome(name: string, type: AddressType, signal: AbortSignal): Promise<Outcome> {
    try {
      const answer = await unlessAborted(
        this.#backend.query(name, type, signal),
        signal,
        abortedDial,
      );
      return { addresses: this.#ends.answered(name, type, answer) };
    } catch (cause) {
      const code = cause instanceof DialError ? cause.code : 'failed';
      const error = new DialError(code, `${name}: ${messageOf(cause)}`, { cause });
      if (code !== 'aborted') this.#ends.failed(name, type, error);
      return { error };
    }
  }

  #count(client: string | undefined, change: 1 | -1): void {
    if (client === undefined) return;
    const count = (this.#ofClient.get(client) ?? 0) + change;
    if (count === 0) this.#ofClient.delete(client);
    else this.#ofClient.set(client, count);
  }
}

class SharedQuestion implements PendingQuestion {
  readonly outcome: Promise<Outcome>;
  readonly #abandon: () => void;
  #waiting = 0;

  constructor(outcome: Promise<Outcome>, abandon: () => void) {
    this.outcome = outcome;
    this.#abandon = abandon;
  }

  join(): void {
    this.#waiting++;
  }

  leave(): void {
    if (--this.#waiting === 0) this.#abandon();
  }
}

const refused = (name: string): PendingQuestion => ({
  outcome: Promise.resolve({
    error: new DialError('failed', `${name}: too many names are being resolved`),
  }),
  leave: () => undefined,
});
