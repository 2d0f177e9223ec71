import type { Endpoint } from '@weir/io/addresses';
import type { SessionRegistry, SessionListener, SessionServer } from '../contract.ts';

/**
 * - `bound`: `serve` has not been called, so there are no sessions.
 * - `serving`: accepts clients.
 * - `retired`: accepts none; released when the last session ends.
 * - `kept`: accepts none; not released before a `swap`, `retire` or `destroy`.
 * - `released`: final.
 */
type ListenerState = 'bound' | 'serving' | 'retired' | 'kept' | 'released';

/**
 * The states of a listener that owns its sessions, and the server and the registry for new clients. A
 * subclass accepts clients, and calls `releaseIfIdle` after each session's end.
 */
export abstract class SessionListenerBase<Server extends SessionServer> implements SessionListener {
  abstract readonly address: string;
  abstract readonly endpoint: Endpoint | undefined;
  abstract readonly closed: Promise<void>;
  readonly #serverClass: abstract new (...args: never[]) => Server;
  #server: Server;
  #registry: SessionRegistry;
  #state: ListenerState = 'bound';

  /** @param serverClass the class of every server that `swap` accepts. */
  protected constructor(
    serverClass: abstract new (...args: never[]) => Server,
    server: Server,
    registry: SessionRegistry,
  ) {
    this.#serverClass = serverClass;
    this.#server = server;
    this.#registry = registry;
  }

  get server(): Server {
    return this.#server;
  }

  get registry(): SessionRegistry {
    return this.#registry;
  }

  protected get isServing(): boolean {
    return this.#state === 'serving';
  }

  /** Whether no session is live. */
  protected abstract get isIdle(): boolean;

  /** Begins to accept clients; called once. */
  protected abstract onServe(): void;

  /** Called when `server` and `registry` were replaced. Clients are accepted from now on if `isServing`. */
  protected abstract onSwap(): void;

  /** Stops accepting new clients. Not called for a listener that was never served. */
  protected onRetire(): void {
    // A subclass that checks `isServing` for each client has nothing to do.
  }

  /** Ends all sessions and releases all resources; called at most once. */
  protected abstract onRelease(cause?: Error): void;

  serve(): void {
    if (this.#state !== 'bound') return;
    this.#state = 'serving';
    this.onServe();
  }

  swap(next: SessionServer, sessions: SessionRegistry): void {
    if (!(next instanceof this.#serverClass)) throw new TypeError('a server of another protocol');
    this.#server = next;
    this.#registry = sessions;
    if (this.#state === 'kept' || this.#state === 'retired') this.#state = 'serving';
    this.onSwap();
  }

  retire(): void {
    if (this.#state === 'released') return;
    const wasServed = this.#state !== 'bound';
    this.#state = 'retired';
    if (wasServed) this.onRetire();
    this.releaseIfIdle();
  }

  keep(): boolean {
    if (this.#state === 'released') return false;
    if (this.#state === 'retired') this.#state = 'kept';
    return true;
  }

  destroy(cause: Error): void {
    if (this.markReleased()) this.onRelease(cause);
  }

  /** Releases a retired listener without sessions. */
  protected releaseIfIdle(): void {
    if (this.#state === 'retired' && this.isIdle && this.markReleased()) this.onRelease();
  }

  /**
   * Marks the listener as released, also when the bound socket or device has failed.
   *
   * @returns false when the release had already begun.
   */
  protected markReleased(): boolean {
    if (this.#state === 'released') return false;
    this.#state = 'released';
    return true;
  }
}
