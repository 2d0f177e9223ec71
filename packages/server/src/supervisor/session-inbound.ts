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
  /** The registry in which the listener registers the sessions that it accepts. */
  readonly registry: LiveSessions;
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
    const { server, registry } = ready;
    return new SessionInbound(ready, await server.bind(listen, registry, signal));
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
    return this.#registries.reduce((live, registry) => live + registry.count, 0);
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
    if (ready.registry !== this.#current.registry) {
      this.#former = this.#registries.filter(({ count }) => count > 0);
    }
    this.#current = ready;
    this.#listener.swap(ready.server, ready.registry);
  }

  /** The registry that another server of the same inbound continues. */
  get registry(): LiveSessions {
    return this.#current.registry;
  }

  async close(): Promise<void> {
    this.#listener.destroy(new LinkClosedError('the listener is closed'));
    await this.#listener.closed;
  }

  async reopen(): Promise<void> {
    const { server, registry } = this.#current;
    this.#listener = await server.bind(this.boundListen, registry);
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
      this.#listener.swap(this.#current.server, this.#current.registry);
      return;
    }
    await this.#listener.closed;
    await this.reopen();
  }

  /** Resolves when no session is left. */
  async whenIdle(): Promise<void> {
    await Promise.all(this.#registries.map((registry) => registry.whenIdle()));
  }

  /** Ends sessions that have no flow: the proxy is stopping. */
  endIdle(): void {
    this.#listener.endIdle?.();
  }

  /** Ends every session, and releases all resources. */
  destroy(cause: Error): void {
    for (const registry of this.#registries) registry.destroy(cause);
    this.#listener.destroy(cause);
  }

  #watch(listener: SessionListener): void {
    void listener.closed.then(() => {
      if (this.#listener === listener) this.#isReleased = true;
    });
  }

  get #registries(): readonly LiveSessions[] {
    return [...this.#former, this.#current.registry];
  }
}
