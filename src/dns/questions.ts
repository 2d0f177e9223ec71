import { messageOf } from '../errors.ts';
import type { Clock } from '../net/clock.ts';
import { Deadline } from '../net/deadline.ts';
import { abortedDial, DialError, type DialErrorCode } from '../net/errors.ts';
import type { DnsAnswer, DnsBackend } from './backend.ts';
import type { AddressType } from './policy.ts';
import { unlessAborted } from '../net/unless-aborted.ts';

/** Pending questions at most; further ones are refused. */
const MAX_QUESTIONS = 2048;
/** Limit of one question, all attempts together. */
const QUESTION_MS = 10_000;

/** How one question ended. */
export type Outcome =
  | (KeptAnswer & { readonly error?: undefined })
  | { readonly addresses?: undefined; readonly error: DialError };

/** What is used of an answer, and until when. */
export interface KeptAnswer {
  readonly addresses: readonly string[];
  /** The name has no address of any family. */
  readonly absent: boolean;
  /** On the monotonic clock, in milliseconds; in the past when it must not be used again. */
  readonly expires: number;
}

/** A pending question, from the view of one flow that waits for it. */
export interface PendingQuestion {
  /** Never rejects. */
  readonly outcome: Promise<Outcome>;
  /** The flow waits no longer; the question is aborted with the last flow that does. */
  leave(): void;
}

/** Callbacks for the ends of questions. */
export interface QuestionEnds {
  /** Returns what is used. */
  answered(name: string, type: AddressType, answer: DnsAnswer): KeptAnswer;
  failed(name: string, type: AddressType, error: DialError): void;
  /** No question is left. */
  idle(): void;
}

/**
 * The pending questions to a backend: identical ones are asked once, each has a deadline, and their
 * number is bounded.
 *
 * A client may have as many pending questions as there are places left, so one client alone never
 * takes more than half of them.
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
   * Asks, or joins the pending question.
   *
   * @param client its address; `undefined` for questions of the configuration.
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

  /** Ends all pending questions. */
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
      deadline.abort(new DialError('aborted', 'all clients that waited for the name have left'));
      // Immediately, so that the next flow asks anew.
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
      return this.#ends.answered(name, type, answer);
    } catch (cause) {
      const code = codeOfFailure(cause);
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

/** What the failure of a question says about the name: a server that fails says nothing. */
const codeOfFailure = (cause: unknown): DialErrorCode =>
  cause instanceof DialError && KEPT_CODES.has(cause.code) ? cause.code : 'unresolved';

const KEPT_CODES: ReadonlySet<DialErrorCode> = new Set(['not_found', 'timed_out', 'aborted']);

const refused = (name: string): PendingQuestion => ({
  outcome: Promise.resolve({
    error: new DialError('unresolved', `${name}: too many names are being resolved`),
  }),
  leave: () => undefined,
});
