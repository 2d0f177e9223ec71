import type { Clock } from '@weir/io/time';
import { DialError, LinkClosedError } from '@weir/io';
import { LinkWatch, type ByteLink, linkPair } from '@weir/io/links';
import type { Dispatcher, StreamRequest } from '../contract.ts';
import { RETIRE_MS } from './limits.ts';

/**
 * One flow to an origin, with the proxy itself as the HTTP client: the dispatcher relays one end of
 * a pair of links, the other end is `link`.
 */
export class OriginFlow {
  readonly link: ByteLink;
  /** Resolves, never rejects, when the flow has ended at the dispatcher. */
  readonly ended: Promise<void>;
  #watch: LinkWatch | undefined;

  private constructor(link: ByteLink, ended: Promise<void>) {
    this.link = link;
    this.ended = ended;
  }

  /**
   * Opens a flow at the dispatcher.
   * @throws {DialError} when the destination was not reached.
   */
  static async open(
    dispatcher: Dispatcher,
    request: Omit<StreamRequest, 'accept'>,
  ): Promise<OriginFlow> {
    const [near, far] = linkPair();
    const { promise: accepted, resolve } = Promise.withResolvers<void>();
    const flow = dispatcher.stream({
      ...request,
      accept: () => {
        resolve();
        return Promise.resolve(far);
      },
    });
    const ended = flow.catch((error: unknown) => {
      near.destroy(error instanceof Error ? error : undefined);
    });
    const over = flow.then(() => {
      throw new DialError('aborted', 'the flow ended before it was connected');
    });
    try {
      await Promise.race([accepted, over]);
    } catch (error) {
      near.destroy();
      throw error;
    }
    return new OriginFlow(near, ended);
  }

  /** Leaves the flow idle between two requests; `onGone` is called when the origin closes it. */
  park(onGone: () => void): void {
    const watch = new LinkWatch(this.link);
    this.#watch = watch;
    void watch.result.then(({ kind }) => {
      if (kind !== 'stopped') onGone();
    });
  }

  /**
   * Resumes a parked flow; `false` when the origin has closed it, or has sent an unsolicited byte.
   */
  async resume(): Promise<boolean> {
    const result = await this.#watch?.stop();
    this.#watch = undefined;
    return result === undefined || result.kind === 'stopped';
  }

  /**
   * Half-closes the flow after its last response, and destroys it if the origin does not close in
   * time.
   */
  async retire(clock: Clock): Promise<void> {
    const timer = clock.after(RETIRE_MS, () => {
      this.link.destroy(new LinkClosedError('the origin did not close its side'));
    });
    try {
      await this.resume();
      await this.link.closeWrite();
    } catch (error) {
      this.link.destroy(error instanceof Error ? error : undefined);
    }
    await this.ended;
    timer.cancel();
  }
}

/**
 * The flows of one client connection. At most one is idle: that of the last request, for the next
 * one to the same authority.
 */
export class OriginFlows {
  readonly #clock: Clock;
  #idle: { readonly key: string; readonly flow: OriginFlow } | undefined;
  readonly #retiring = new Set<Promise<void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Parks a flow for the next request with that key. */
  park(key: string, flow: OriginFlow): void {
    this.#idle = { key, flow };
    flow.park(() => {
      if (this.#idle?.flow === flow) this.retireIdle();
    });
  }

  /** Returns the idle flow, if it has that key and is still usable; any other is retired. */
  async take(key: string): Promise<OriginFlow | undefined> {
    const idle = this.#idle;
    if (!idle) return undefined;
    this.#idle = undefined;
    if (idle.key === key && (await idle.flow.resume())) return idle.flow;
    this.retire(idle.flow);
    return undefined;
  }

  /** Closes a flow after its last response. */
  retire(flow: OriginFlow): void {
    const retiring = flow.retire(this.#clock);
    this.#retiring.add(retiring);
    void retiring.finally(() => this.#retiring.delete(retiring));
  }

  retireIdle(): void {
    const idle = this.#idle;
    this.#idle = undefined;
    if (idle) this.retire(idle.flow);
  }

  /** Closes the idle flow at once: no response is pending on it. */
  destroyIdle(cause: Error): void {
    this.#idle?.flow.link.destroy(cause);
  }

  /** Resolves, never rejects, when all retired flows have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#retiring);
  }
}
