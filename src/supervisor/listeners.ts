import { isDeepStrictEqual } from 'node:util';
import { codeOf, messageOf } from '../errors.ts';
import type { Logger } from '../log/logger.ts';
import type { Endpoint } from '../net/address.ts';
import type { Packet, ReplyPath } from '../net/link.ts';
import type { AcceptedConnection } from '../net/sockets.ts';
import type { ListenSpec } from '../spec.ts';
import type { Acceptor } from '../transports/acceptor.ts';
import { listenTcp, type Listener } from '../transports/tcp-listener.ts';
import { listenUdp, type DatagramListener } from '../transports/udp-listener.ts';
import { ApplyError } from './apply-error.ts';

/** Who takes what reaches a listener. */
export interface ListenerTarget extends Acceptor {
  receive(packet: Packet, replies: ReplyPath): void;
  /** Connections are not accepted for now; the kernel keeps those that wait. */
  heldBack(reason: string): void;
}

/** TCP ports that are tried where the kernel chooses one of which UDP has to be free as well. */
const PORTS_TRIED = 10;

/** Connections that are kept for an inbound which is not served yet. */
const MAX_HELD_CONNECTIONS = 4096;
/** Datagrams that are kept for it. */
const MAX_HELD_DATAGRAMS = 64;

/** A listener that gives up its address, so that another may be bound there. */
export interface LeavingListener {
  /** Whether closing this one could make room for `spec`: another address with the same port. */
  standsInTheWayOf(spec: ListenSpec): boolean;
  /** Frees the address; it may be opened again. */
  close(): Promise<void>;
  /** Binds the very address again that was bound before, the kernel's choice of a port included. */
  reopen(): Promise<void>;
}

/**
 * A bound listener whose connections can be given to another inbound without closing it.
 *
 * It serves nothing before `serve`: connections are kept as they were accepted, with nothing read
 * from them, and some datagrams.
 */
export class SwitchedListener implements LeavingListener {
  readonly spec: ListenSpec;
  /** Whether it takes datagrams on the same port as connections. */
  readonly datagrams: boolean;
  #target: ListenerTarget;
  #listener: Listener | undefined;
  #datagramListener: DatagramListener | undefined;
  /** `undefined` once it is served. */
  #held: { connections: AcceptedConnection[]; datagrams: (() => void)[] } | undefined = {
    connections: [],
    datagrams: [],
  };

  private constructor({ spec, datagrams, target }: Omit<WantedListener, 'tag'>) {
    this.spec = spec;
    this.datagrams = datagrams;
    this.#target = target;
  }

  /**
   * @throws {BindError}
   * @throws the reason of `signal`
   */
  static async bind(
    wanted: Omit<WantedListener, 'tag'>,
    signal?: AbortSignal,
  ): Promise<SwitchedListener> {
    const bound = new SwitchedListener(wanted);
    await bound.#open(wanted.spec, signal);
    return bound;
  }

  /** The bound address with the port that the kernel chose, or the socket's path. */
  get address(): string {
    return this.#listener?.address ?? '';
  }

  /** The bound address as data; `undefined` for a unix socket. */
  get endpoint(): Endpoint | undefined {
    return this.#listener?.endpoint;
  }

  /** Whether closing this one could make room for `spec`: another address with the same port. */
  standsInTheWayOf(spec: ListenSpec): boolean {
    if (spec.kind === 'unix') return this.spec.kind === 'unix' && this.spec.path === spec.path;
    return this.#boundPort() === spec.port;
  }

  async reopen(): Promise<void> {
    const port = this.#boundPort();
    const spec =
      this.spec.kind === 'unix' || port === undefined ? this.spec : { ...this.spec, port };
    await this.#open(spec);
  }

  async #open(spec: ListenSpec, signal?: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const listener = await listenTcp(
        spec,
        {
          onConnection: (connection) => this.#accept(connection),
          onHeldBack: (reason) => this.#target.heldBack(reason),
        },
        signal,
      );
      try {
        this.#datagramListener = await this.#openDatagrams(listener);
        this.#listener = listener;
        return;
      } catch (error) {
        await listener.close();
        const another = spec.kind !== 'unix' && spec.port === 0 && isInUse(error);
        if (!another || attempt === PORTS_TRIED) throw error;
      }
    }
  }

  async #openDatagrams({ endpoint }: Listener): Promise<DatagramListener | undefined> {
    if (!this.datagrams || !endpoint) return undefined;
    return listenUdp(endpoint, (packet, replies) => this.#receive(packet, replies));
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

  #receive(packet: Packet, replies: ReplyPath): void {
    if (!this.#held) this.#target.receive(packet, replies);
    else if (this.#held.datagrams.length < MAX_HELD_DATAGRAMS) {
      this.#held.datagrams.push(() => this.#target.receive(packet, replies));
    }
  }

  /** Gives its target what has come since it was bound, and from now on everything at once. */
  serve(): void {
    const held = this.#held;
    this.#held = undefined;
    for (const connection of held?.connections ?? []) this.#target.accept(connection);
    for (const receive of held?.datagrams ?? []) receive();
  }

  /** Gives what comes from now on to another inbound, or to other stream settings of this one. */
  switchTo(target: ListenerTarget): void {
    const old = this.#target;
    this.#target = target;
    old.close();
  }

  async close(): Promise<void> {
    for (const held of this.#held?.connections.splice(0) ?? []) held.destroy();
    this.#datagramListener?.close();
    await this.#listener?.close();
  }

  /** Closes it for good: nothing new comes over connections that are shared, either. */
  async retire(): Promise<void> {
    await this.close();
    this.#target.close();
  }
}

/** A listener that an inbound wants: bound anew, or taken over from an inbound that gives it up. */
export interface WantedListener {
  readonly tag: string;
  readonly spec: ListenSpec;
  readonly datagrams: boolean;
  readonly target: ListenerTarget;
}

/** A listener that an inbound gives up when the reload succeeds. */
export interface FreedListener {
  readonly tag: string;
  readonly listener: SwitchedListener;
}

/**
 * The listeners of one reload: bound before anything that runs is touched, and given back when the
 * reload fails.
 *
 * An address that moves from one inbound to another keeps its socket, so that no connection meets a
 * closed port. Where a new address overlaps an old one that is given up (`0.0.0.0` after
 * `127.0.0.1`, same port), the old one is closed first, and bound again should the new one fail.
 * So is a listener that is no inbound's and is about to leave its address.
 */
export class ListenerExchange {
  readonly #log: Logger;
  readonly #freed: Map<string, SwitchedListener>;
  readonly #bound = new Map<string, SwitchedListener>();
  readonly #takenOver = new Map<string, { listener: SwitchedListener; target: ListenerTarget }>();
  /** Listeners that are no inbound's, and that may be closed to make room. */
  readonly #leaving: Set<LeavingListener>;
  /** Closed to make room; by the tag that held them. */
  readonly #closedEarly = new Map<string, SwitchedListener>();
  readonly #leftEarly: LeavingListener[] = [];

  constructor(freed: readonly FreedListener[], leaving: readonly LeavingListener[], log: Logger) {
    this.#freed = new Map(freed.map(({ tag, listener }) => [tag, listener]));
    this.#leaving = new Set(leaving);
    this.#log = log;
  }

  /**
   * The caller rolls back when this rejects.
   * @throws {ApplyError} `bind`
   * @throws the reason of `signal`
   */
  async bind(wanted: readonly WantedListener[], signal: AbortSignal): Promise<void> {
    const crowded: WantedListener[] = [];
    for (const want of wanted) {
      if (this.#takeOver(want)) continue;
      try {
        this.#bound.set(want.tag, await SwitchedListener.bind(want, signal));
      } catch (error) {
        signal.throwIfAborted();
        if (!isInUse(error) || !this.#canMakeRoomFor(want.spec)) {
          throw asApplyError(want.tag, error);
        }
        crowded.push(want);
      }
    }
    for (const want of crowded) await this.#bindInPlaceOfOld(want, signal);
  }

  /**
   * The reload goes ahead, in one turn: what was bound is served, what was taken over changes hands,
   * and what is left over is closed.
   */
  commit(): ReadonlyMap<string, SwitchedListener> {
    const result = new Map(this.#bound);
    for (const listener of this.#bound.values()) listener.serve();
    for (const [tag, { listener, target }] of this.#takenOver) {
      listener.switchTo(target);
      result.set(tag, listener);
    }
    const left = [...this.#freed.values(), ...this.#closedEarly.values()];
    for (const listener of left) void listener.retire();
    return result;
  }

  /**
   * The reload does not go ahead: closes what was bound, and binds again what had to make room. An
   * address that cannot be had back is logged.
   *
   * @param restore false when the process stops: then nothing is bound again
   */
  async rollBack(restore: boolean): Promise<void> {
    await Promise.all([...this.#bound.values()].map((listener) => listener.close()));
    this.#bound.clear();
    if (!restore) return;
    for (const listener of this.#leftEarly) await listener.reopen();
    for (const [tag, listener] of this.#closedEarly) {
      try {
        await listener.reopen();
      } catch (error) {
        this.#log.error(`inbound ${tag} could not be restored: ${messageOf(error)}`);
      }
    }
    this.#closedEarly.clear();
  }

  #takeOver({ tag, spec, datagrams, target }: WantedListener): boolean {
    // Two inbounds that let the kernel choose a port do not want the same one.
    if (spec.kind !== 'unix' && spec.port === 0) return false;
    for (const [holder, listener] of this.#freed) {
      if (listener.datagrams !== datagrams || !isDeepStrictEqual(listener.spec, spec)) continue;
      this.#freed.delete(holder);
      this.#takenOver.set(tag, { listener, target });
      return true;
    }
    return false;
  }

  #inTheWayOf(spec: ListenSpec): [string, SwitchedListener][] {
    return [...this.#freed].filter(([, listener]) => listener.standsInTheWayOf(spec));
  }

  #canMakeRoomFor(spec: ListenSpec): boolean {
    return (
      this.#inTheWayOf(spec).length > 0 ||
      [...this.#leaving].some((listener) => listener.standsInTheWayOf(spec))
    );
  }

  async #bindInPlaceOfOld(want: WantedListener, signal: AbortSignal): Promise<void> {
    for (const [tag, listener] of this.#inTheWayOf(want.spec)) {
      this.#freed.delete(tag);
      this.#closedEarly.set(tag, listener);
      await listener.close();
    }
    for (const listener of this.#leaving) {
      if (!listener.standsInTheWayOf(want.spec)) continue;
      this.#leaving.delete(listener);
      this.#leftEarly.push(listener);
      await listener.close();
    }
    try {
      this.#bound.set(want.tag, await SwitchedListener.bind(want, signal));
    } catch (error) {
      signal.throwIfAborted();
      throw asApplyError(want.tag, error);
    }
  }
}

const isInUse = (error: unknown): boolean =>
  error instanceof Error && codeOf(error.cause) === 'EADDRINUSE';

const asApplyError = (tag: string, error: unknown): ApplyError =>
  new ApplyError('bind', `inbound ${tag}: ${messageOf(error)}`, { cause: error });
