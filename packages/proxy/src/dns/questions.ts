import { shownHost } from '@weir/io/addresses';
import { messageOf } from '@weir/base';
import { type Clock, Deadline, unlessAborted } from '@weir/io/time';
import { abortedDial, DialError, type DialErrorCode } from '@weir/io';
import type { DnsAnswer, DnsBackend } from './backend.ts';
import type { AddressRecordType } from './policy.ts';
import { RateLimit } from '@weir/io/pace';
import { Shares } from '@weir/io/bounds';
import { DISPLACED_A_SECOND, MAX_QUESTIONS } from './limits.ts';

/** Milliseconds for one question, all attempts together. */
const QUESTION_MS = 10_000;

/** The outcome of one question. */
export type QuestionOutcome =
  | (KeptAnswer & { readonly error?: undefined })
  | { readonly addresses?: undefined; readonly error: DialError };

/** The part of an answer that is used, and its expiry. */
export interface KeptAnswer {
  /** The first addresses, for dials. */
  readonly addresses: readonly string[];
  /** All addresses, for clients of a DNS server. */
  readonly all: readonly string[];
  /** The aliases followed; see `DnsAnswer`. */
  readonly aliases: readonly string[] | undefined;
  /** Whether the name has no address of any family. */
  readonly absent: boolean;
  /**
   * Time at which the answer expires, on the monotonic clock in milliseconds; in the past when it must not be reused.
   */
  readonly expires: number;
}

/** A pending question, as seen by one flow that waits for it. */
export interface PendingQuestion {
  /** Resolves with the outcome. Never rejects. */
  readonly outcome: Promise<QuestionOutcome>;
  /** Ends the wait of the flow. The question is aborted when its last flow has left. */
  leave(): void;
}

/** Callbacks when questions end. */
export interface QuestionEnds {
  /** Caches an answer; returns the part that is used. */
  answered(name: string, type: AddressRecordType, answer: DnsAnswer): KeptAnswer;
  failed(name: string, type: AddressRecordType, error: DialError): void;
  /** Called when no question remains. */
  idle(): void;
}

/**
 * The pending questions to a backend: identical ones are asked once, each has a deadline, and their number is bounded.
 *
 * A client may have as many pending questions as are free, so that a single client never uses more than half. Beyond
 * that its oldest question is displaced: unanswered questions of one program must not keep other programs at the same
 * address from asking.
 */
export class Questions {
  readonly #backend: DnsBackend;
  readonly #clock: Clock;
  readonly #ends: QuestionEnds;
  readonly #closing = new AbortController();
  readonly #pending = new Map<string, SharedQuestion>();
  readonly #ofClients = new Shares<SharedQuestion, string>();
  readonly #displaced = new RateLimit(DISPLACED_A_SECOND);

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
   * @param client the client's address; `undefined` for questions of the configuration.
   */
  ask(name: string, type: AddressRecordType, client: string | undefined): PendingQuestion {
    const key = `${type} ${name}`;
    let question = this.#pending.get(key);
    if (!question) {
      if (!this.#hasRoom(client) && !this.#displace(client)) return refused(name);
      question = this.#start(key, name, type);
      this.#pending.set(key, question);
      if (client !== undefined) this.#ofClients.add(question, client);
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
    return free > 0 && (client === undefined || this.#ofClients.countOf(client) < free);
  }

  /** Displaces a question in favour of one of this client; returns false when none may be displaced. */
  #displace(client: string | undefined): boolean {
    const isFull = this.#pending.size >= MAX_QUESTIONS;
    const victim =
      isFull || client === undefined
        ? this.#ofClients.heaviest?.oldest
        : this.#ofClients.oldestOf(client);
    if (victim === undefined || !this.#displaced.take(this.#clock.now())) return false;
    victim.displace();
    return true;
  }

  #start(key: string, name: string, type: AddressRecordType): SharedQuestion {
    const deadline = new Deadline(
      this.#clock,
      QUESTION_MS,
      'resolving the name',
      this.#closing.signal,
    );
    let over = false;
    const end = (): void => {
      if (over) return;
      over = true;
      deadline[Symbol.dispose]();
      this.#ofClients.delete(question);
      this.#pending.delete(key);
      if (this.#pending.size === 0) this.#ends.idle();
    };
    const outcome = this.#outcome(name, type, deadline.signal).finally(end);
    const question = new SharedQuestion(outcome, (cause) => {
      deadline.abort(cause);
      // At once, so that the next flow starts a new question.
      end();
    });
    return question;
  }

  async #outcome(
    name: string,
    type: AddressRecordType,
    signal: AbortSignal,
  ): Promise<QuestionOutcome> {
    try {
      const answer = await unlessAborted(
        this.#backend.query(name, type, signal),
        signal,
        abortedDial,
      );
      return this.#ends.answered(name, type, answer);
    } catch (cause) {
      // An abort does not concern the name.
      if (cause === DISPLACED) return { error: tooMany(name) };
      const code = codeOfFailure(cause);
      const error = new DialError(code, `${shownHost(name)}: ${messageOf(cause)}`, { cause });
      if (code !== 'aborted') this.#ends.failed(name, type, error);
      return { error };
    }
  }
}

class SharedQuestion implements PendingQuestion {
  readonly outcome: Promise<QuestionOutcome>;
  readonly #end: (cause: DialError) => void;
  #waiting = 0;

  constructor(outcome: Promise<QuestionOutcome>, end: (cause: DialError) => void) {
    this.outcome = outcome;
    this.#end = end;
  }

  join(): void {
    this.#waiting++;
  }

  leave(): void {
    if (--this.#waiting === 0) this.#end(ABANDONED);
  }

  /** Displaces this question in favour of another. */
  displace(): void {
    this.#end(DISPLACED);
  }
}

/** Returns the code of a failed resolution. A failure of the server does not concern the name. */
const codeOfFailure = (cause: unknown): DialErrorCode =>
  cause instanceof DialError && KEPT_CODES.has(cause.code) ? cause.code : 'unresolved';

const KEPT_CODES: ReadonlySet<DialErrorCode> = new Set(['not_found', 'timed_out', 'aborted']);

/**
 * The reason for ending questions before their answer; shared, since an error with its stack costs more than they do.
 */
const ABANDONED = new DialError('aborted', 'all clients that waited for the name have left');
const DISPLACED = new DialError('unresolved', 'too many names are being resolved');

const tooMany = (name: string): DialError =>
  new DialError('unresolved', `${shownHost(name)}: too many names are being resolved`);

const refused = (name: string): PendingQuestion => ({
  outcome: Promise.resolve({ error: tooMany(name) }),
  leave: () => undefined,
});
