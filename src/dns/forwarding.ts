import type { Clock } from '../net/time/clock.ts';
import { Deadline } from '../net/time/deadline.ts';
import { abortedDial, DialError } from '../net/errors.ts';
import { RateLimit } from '../net/time/rate-limit.ts';
import { Shares } from '../net/bounds/shares.ts';
import { unlessAborted } from '../net/time/unless-aborted.ts';
import type { DnsBackend } from './backend.ts';
import { DISPLACED_A_SECOND, MAX_FORWARDED } from './limits.ts';
import type { RawQuestion } from './message.ts';

/** Milliseconds for one question, all attempts together. */
const FORWARD_MS = 10_000;

/**
 * Questions forwarded to a backend unchanged, bounded in number. Unanswered questions of one client do
 * not keep other clients, or other programs at the same address, from asking.
 */
export class Forwarding {
  readonly #backend: Pick<DnsBackend, 'forward'>;
  readonly #clock: Clock;
  readonly #onIdle: () => void;
  readonly #pending = new Shares<Deadline, string>();
  readonly #displaced = new RateLimit(DISPLACED_A_SECOND);

  /** @param onIdle called when no question remains. */
  constructor(backend: Pick<DnsBackend, 'forward'>, clock: Clock, onIdle: () => void) {
    this.#backend = backend;
    this.#clock = clock;
    this.#onIdle = onIdle;
  }

  get size(): number {
    return this.#pending.size;
  }

  /**
   * Asks a question.
   *
   * @param client the address of the client; '' if it has none.
   * @throws {DialError} as `DnsBackend.forward` does; `failed` when another question displaced it, or
   *   too many questions are pending.
   */
  async ask(question: RawQuestion, client: string, signal?: AbortSignal): Promise<Buffer> {
    if (this.size >= MAX_FORWARDED) this.#displace();
    using deadline = new Deadline(this.#clock, FORWARD_MS, 'the DNS question', signal);
    this.#pending.add(deadline, client);
    try {
      const reply = this.#backend.forward(question, deadline.signal);
      return await unlessAborted(reply, deadline.signal, abortedDial);
    } finally {
      this.#pending.delete(deadline);
      if (this.size === 0) this.#onIdle();
    }
  }

  #displace(): void {
    const victim = this.#pending.heaviest?.oldest;
    const failure = new DialError('failed', 'too many questions are being passed on');
    if (victim === undefined || !this.#displaced.take(this.#clock.now())) throw failure;
    this.#pending.delete(victim);
    victim.abort(failure);
  }
}
