import { LinkClosedError } from '@weir/io';
import type { Packet, ReplyPath } from '@weir/io/links';
import type { OwnEndpoint } from '@weir/io/net/own-listeners';
import type { AcceptedConnection } from '@weir/io/sockets';
import { DatagramPort, type Listener, listenTcp } from '@weir/proxy/accept';
import type { LiveSessions } from '@weir/proxy/engine';
import { isInUse } from '@weir/proxy/listeners';
import type { SessionListener, SessionServer } from '@weir/proxy/protocols';
import type { InboundSpec, ListenSpec, SocketListenSpec } from '@weir/proxy/spec';
import { type InboundListener, type ListenMeans, shareNetwork } from './inbound-listener.ts';

/** Receives the connections and datagrams of a listener. */
export interface ListenerTarget {
  accept(connection: AcceptedConnection): void;
  /**
   * Receives a datagram.
   * @param known whether it is only served if it belongs to an association; by default unless `replies` accepts clients
   * @returns whether it does
   */
  readonly receive: (packet: Packet, replies: ReplyPath, known?: boolean) => boolean;
  /** Number of live associations. */
  readonly associations: number;
  /** Called when connections are temporarily not accepted and wait in the kernel's queue. */
  paused(reason: string): void;
  /**
   * Closes the target: nothing more will be passed to it; connections with several carriers open no more of them
   * either.
   */
  close(): void;
}

/** Attempts to find a port that is also free for UDP, when the kernel chooses it for TCP. */
const PORTS_TRIED = 10;

/** Connections and datagrams queued for an inbound that is not served yet. */
const MAX_HELD_CONNECTIONS = 4096;
const MAX_HELD_DATAGRAMS = 64;

/** The address to bind and its target. */
interface BindOptions {
  readonly spec: SocketListenSpec;
  /** Whether to receive datagrams on the same port as connections. */
  readonly datagrams: boolean;
  readonly target: ListenerTarget;
}

/**
 * A bound listener that can be switched to another inbound without being closed.
 *
 * Until `serve` it queues accepted connections, without reading from them, and some datagrams.
 */
export class SwitchedListener implements InboundListener {
  readonly spec: SocketListenSpec;
  /** Receives datagrams on the same port as connections; `undefined` for a listener of connections only. */
  readonly #datagrams: DatagramPort | undefined;
  readonly #closed = Promise.withResolvers<void>();
  #target: ListenerTarget;
  /** Targets of inbounds that had the port before, and had associations then. */
  #former: ListenerTarget[] = [];
  #listener: Listener | undefined;
  #isRetired = false;
  /** The queue until `serve`, then `undefined`. */
  #held: { connections: AcceptedConnection[]; datagrams: (() => void)[] } | undefined = {
    connections: [],
    datagrams: [],
  };

  private constructor({ spec, datagrams, target }: BindOptions) {
    this.spec = spec;
    this.#datagrams = datagrams ? new DatagramPort((packet) => this.#receive(packet)) : undefined;
    this.#target = target;
  }

  /**
   * Binds a listener.
   *
   * @throws {BindError}
   * @throws the reason of `signal`
   */
  static async bind(wanted: BindOptions, signal?: AbortSignal): Promise<SwitchedListener> {
    const bound = new SwitchedListener(wanted);
    await bound.#open(wanted.spec, signal);
    return bound;
  }

  /** The bound address with its actual port, or the path of the socket. */
  get address(): string {
    return this.#listener?.address ?? '';
  }

  get endpoints(): readonly OwnEndpoint[] {
    const { endpoint } = this.#listener ?? {};
    if (!endpoint) return [];
    const stream: OwnEndpoint = { endpoint, network: 'tcp' };
    return this.#datagrams ? [stream, { endpoint, network: 'udp' }] : [stream];
  }

  get means(): ListenMeans {
    if (this.#isRetired) return 'udp';
    return this.#datagrams ? 'tcp+udp' : 'tcp';
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Always 0: sessions have connections of their own, and associations outlive their port. */
  get tied(): number {
    return 0;
  }

  /** Whether closing this listener could make room for `spec`: another address with the same port. */
  conflictsWith(spec: SocketListenSpec): boolean {
    if (spec.kind === 'unix') return this.spec.kind === 'unix' && this.spec.path === spec.path;
    return this.#boundPort() === spec.port;
  }

  async reopen(): Promise<void> {
    const port = this.#boundPort();
    const spec =
      this.spec.kind === 'unix' || port === undefined ? this.spec : { ...this.spec, port };
    await this.#open(spec);
  }

  async #open(spec: SocketListenSpec, signal?: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const listener = await listenTcp(
        spec,
        {
          onConnection: (connection) => this.#accept(connection),
          onPaused: (reason) => this.#target.paused(reason),
        },
        signal,
      );
      try {
        if (listener.endpoint) await this.#datagrams?.open(listener.endpoint);
        this.#listener = listener;
        return;
      } catch (error) {
        await listener.close();
        const another = spec.kind !== 'unix' && spec.port === 0 && isInUse(error);
        if (!another || attempt === PORTS_TRIED) throw error;
      }
    }
  }

  #boundPort(): number | undefined {
    if (this.spec.kind === 'unix') return undefined;
    return Number(this.address.slice(this.address.lastIndexOf(':') + 1));
  }

  #accept(connection: AcceptedConnection): void {
    const { connections } = this.#held ?? {};
    if (!connections) this.#target.accept(connection);
    else if (connections.length < MAX_HELD_CONNECTIONS) connections.push(connection);
    else connection.destroy();
  }

  #receive(packet: Packet): void {
    const replies = this.#datagrams;
    if (!replies) return;
    if (!this.#held) this.#pass(packet, replies);
    else if (this.#held.datagrams.length < MAX_HELD_DATAGRAMS) {
      this.#held.datagrams.push(() => this.#pass(packet, replies));
    }
  }

  #pass(packet: Packet, replies: ReplyPath): void {
    for (const former of this.#former) {
      if (former.associations > 0 && former.receive(packet, replies, true)) return;
    }
    this.#target.receive(packet, replies);
  }

  /** Passes on the connections and datagrams queued since the listener was bound, and later ones directly. */
  serve(): void {
    const held = this.#held;
    this.#held = undefined;
    for (const connection of held?.connections ?? []) this.#target.accept(connection);
    for (const receive of held?.datagrams ?? []) receive();
  }

  /** Passes connections and datagrams to another inbound from now on, except those of associations. */
  switchTo(target: ListenerTarget): void {
    const old = this.#target;
    this.#former = this.#associatedBeside(target);
    this.#target = target;
    old.close();
  }

  /** Returns the targets with associations, except one of the same inbound. */
  #associatedBeside({ receive }: ListenerTarget): ListenerTarget[] {
    return [...this.#former, this.#target].filter(
      (target) => target.associations > 0 && target.receive !== receive,
    );
  }

  makeRoom(means: ListenMeans): Promise<void> {
    return shareNetwork(means, 'udp') ? this.close() : this.drain();
  }

  replacedBy(other: InboundListener): number {
    if (!this.#datagrams || !shareNetwork(other.means, 'udp')) return 0;
    if (other instanceof SwitchedListener) {
      other.#former.push(...this.#associatedBeside(other.#target));
      return 0;
    }
    return this.#datagrams.end();
  }

  /** Frees the address. Associations continue, and respond again when it is reopened, or through another listener. */
  async close(): Promise<void> {
    this.#datagrams?.close();
    // Accepts connections that wait in the kernel's queue; they go to the target, or are queued.
    await this.#listener?.close();
    for (const held of this.#held?.connections.splice(0) ?? []) held.destroy();
  }

  /**
   * Accepts no clients until `reopen`; datagrams are received until no association responds through their port.
   * Resolves when no connection is accepted.
   */
  async drain(): Promise<void> {
    void this.#datagrams?.retire();
    await this.#listener?.close();
  }

  async restore(): Promise<void> {
    await this.#datagrams?.restore();
  }

  /** Drains the listener and closes its target permanently. */
  async retire(): Promise<void> {
    this.#isRetired = true;
    await this.drain();
    this.#target.close();
    void Promise.resolve(this.#datagrams?.retire()).then(this.#closed.resolve);
  }
}

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
  /** Registries of former inbounds that still have live sessions. */
  #former: readonly LiveSessions[] = [];

  private constructor(ready: ReadySessions, listener: SessionListener) {
    this.#current = ready;
    this.#listener = listener;
    this.#watch(listener);
  }

  /**
   * Binds a listener.
   *
   * @param listen that of `ready`, or the same with the port that the kernel chose before
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

  makeRoom(): Promise<void> {
    return this.close();
  }

  /** It was closed without sessions. */
  replacedBy(): number {
    return 0;
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

  /** A retired listener is closed only without sessions. */
  restore(): Promise<void> {
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
