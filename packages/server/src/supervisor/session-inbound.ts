import { LinkClosedError } from '@weir/io';
import type { LiveSessions } from '@weir/proxy/engine';
import type { OwnEndpoint } from '@weir/io/net/own-listeners';
import type { SessionListener, SessionServer } from '@weir/proxy/protocols';
import type { InboundSpec, ListenSpec, SocketListenSpec } from '@weir/proxy/spec';
import type { InboundListener, ListenMeans } from './inbound-listener.ts';

/** An inbound whose listener owns its sessions, ready to be bound or swapped in. */
export interface ReadySessions {
  readonly spec: InboundSpec;
  readonly means: ListenMeans;
  readonly server: SessionServer;
  /** The book in which the listener registers the sessions that it accepts. */
  readonly book: LiveSessions;
}

/** A bound listener that owns its sessions. Another inbound may take it over. */
export class SessionInbound implements InboundListener {
  #current: ReadySessions;
  #listener: SessionListener;
  #isReleased = false;
  /** Books of former inbounds with live sessions. */
  #former: readonly LiveSessions[] = [];

  private constructor(ready: ReadySessions, listener: SessionListener) {
    this.#current = ready;
    this.#listener = listener;
    this.#watch(listener);
  }

  /**
   * Binds a listener. | @param listen that of `ready`, or the same with the port that the kernel chose before
   * @throws {BindError}
   * @throws the reason of `signal`
   */
  static async bind(
    ready: ReadySessions,
    listen: ListenSpec,
    signal?: AbortSignal,
  ): Promise<SessionInbound> {
    const { server, book } = ready;
    return new SessionInbound(ready, await server.bind(listen, book, signal));
  }

  /** The inbound that new clients belong to. */
  get inbound(): InboundSpec {
    return this.#current.spec;
  }

  get spec(): ListenSpec {
    return this.#current.spec.listen;
  }

  /** `spec` with the port that the kernel chose. */
  get boundListen(): ListenSpec {
    const { endpoint } = this.#listener;
    const { spec } = this;
    if (!endpoint || (spec.kind !== 'ip' && spec.kind !== 'name')) return spec;
    return { ...spec, port: endpoint.port };
  }

  get means(): ListenMeans {
    return this.#current.means;
  }

  get address(): string {
    return this.#listener.address;
  }

  get endpoints(): readonly OwnEndpoint[] {
    const { endpoint } = this.#listener;
    return endpoint ? [{ endpoint, network: 'udp' }] : [];
  }

  /** Whether the port or device has been released: the listener has failed, unless it was closed or retired. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  get tied(): number {
    if (this.#isReleased) return 0;
    return this.#books.reduce((live, book) => live + book.count, 0);
  }

  /** Resolves when all resources are released. */
  get closed(): Promise<void> {
    return this.#listener.closed;
  }

  conflictsWith(spec: SocketListenSpec): boolean {
    const { endpoint } = this.#listener;
    return spec.kind !== 'unix' && endpoint?.port === spec.port;
  }

  serve(): void {
    this.#listener.serve();
  }

  /** Serves new clients by `ready`, of the same inbound or of another; live sessions are not affected. */
  swap(ready: ReadySessions): void {
    if (ready.book !== this.#current.book) {
      this.#former = this.#books.filter(({ count }) => count > 0);
    }
    this.#current = ready;
    this.#listener.swap(ready.server, ready.book);
  }

  /** The book that another server of the same inbound continues. */
  get book(): LiveSessions {
    return this.#current.book;
  }

  async close(): Promise<void> {
    this.#listener.destroy(new LinkClosedError('the listener is closed'));
    await this.#listener.closed;
  }

  async reopen(): Promise<void> {
    const { server, book } = this.#current;
    this.#listener = await server.bind(this.boundListen, book);
    this.#isReleased = false;
    this.#watch(this.#listener);
    this.#listener.serve();
  }

  /** Prevents the release before a `swap`; `retire` undoes that. Returns false when the release has begun. */
  keep(): boolean {
    return this.#listener.keep();
  }

  /** Stops accepting clients; stays bound until its last session ends (`closed`). */
  retire(): Promise<void> {
    this.#listener.retire();
    return Promise.resolve();
  }

  /** Accepts clients again after `retire`; binds again if the address was released meanwhile. */
  async resume(): Promise<void> {
    if (this.#listener.keep()) {
      this.#listener.swap(this.#current.server, this.#current.book);
      return;
    }
    await this.#listener.closed;
    await this.reopen();
  }

  /** Resolves when no session is left. */
  async whenIdle(): Promise<void> {
    await Promise.all(this.#books.map((book) => book.whenIdle()));
  }

  /** Ends sessions that have no flow: the proxy is stopping. */
  endIdle(): void {
    this.#listener.endIdle?.();
  }

  /** Ends every session, and releases all resources. */
  destroy(cause: Error): void {
    for (const book of this.#books) book.destroy(cause);
    this.#listener.destroy(cause);
  }

  #watch(listener: SessionListener): void {
    void listener.closed.then(() => {
      if (this.#listener === listener) this.#isReleased = true;
    });
  }

  get #books(): readonly LiveSessions[] {
    return [...this.#former, this.#current.book];
  }
}
