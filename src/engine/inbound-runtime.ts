import { messageOf } from '../errors.ts';
import type { Logger } from '../log/logger.ts';
import type { Carrier } from '../net/link.ts';
import type { InboundHandler } from '../protocols/contract.ts';
import type { LiveSession, Tracker } from '../tracker/tracker.ts';

/**
 * The running side of one inbound: opens a session for each accepted carrier and gives it to the
 * handler of the moment. Sessions outlive the listener and the handler that they started with.
 */
export class InboundRuntime {
  readonly tag: string;
  readonly #tracker: Tracker;
  readonly #log: Logger;
  readonly #live = new Map<LiveSession, Carrier>();
  #handler: InboundHandler;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(tag: string, handler: InboundHandler, tracker: Tracker, log: Logger) {
    this.tag = tag;
    this.#handler = handler;
    this.#tracker = tracker;
    this.#log = log;
  }

  get sessions(): number {
    return this.#live.size;
  }

  /** New carriers get `handler`; live ones go on with theirs. */
  swap(handler: InboundHandler): void {
    this.#handler = handler;
  }

  /** Takes one accepted carrier; its failure ends nothing but itself. */
  readonly accept = (carrier: Carrier): void => {
    const session = this.#tracker.openSession(this.tag, carrier.remote?.host, carrier.wire);
    this.#live.set(session, carrier);
    void this.#serve(carrier, session);
  };

  /** Resolves when no session is left. */
  whenIdle(): Promise<void> {
    if (this.#live.size === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers<void>();
    return this.#idle.promise;
  }

  /** Ends every live session. */
  destroy(cause: Error): void {
    for (const carrier of this.#live.values()) carrier.link.destroy(cause);
  }

  async #serve(carrier: Carrier, session: LiveSession): Promise<void> {
    try {
      await this.#handler.serve(carrier, session);
    } catch (error) {
      this.#log.debug(`inbound ${this.tag}: session ${session.id}: ${messageOf(error)}`);
    } finally {
      carrier.link.destroy();
      session.close();
      this.#live.delete(session);
      if (this.#live.size === 0) {
        this.#idle?.resolve();
        this.#idle = undefined;
      }
    }
  }
}
