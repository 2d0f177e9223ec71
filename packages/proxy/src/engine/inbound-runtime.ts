import { messageOf } from '@weir/base';
import { ChurnMap } from '@weir/base/collections';
import type { Logger } from '@weir/base/log';
import { endInTurns, type Carrier, type Packet, type ReplyPath } from '@weir/io/links';
import type { OwnListeners } from '@weir/io/net/own-listeners';
import type { InboundHandler, DatagramServer } from '../protocols/contract.ts';
import type { InboundMemory } from '../protocols/inbounds/inbound-memory.ts';
import { accountsOf, NO_ACCOUNTS } from '../protocols/users/accounts.ts';
import type { LiveSession, Tracker } from '../tracker/tracker.ts';
import { LiveSessions } from './live-sessions.ts';

/** The datagram server of one handler, with its live associations. */
interface ServingHandler {
  readonly server: DatagramServer;
  readonly live: LiveSessions;
}

/**
 * The datagram side of one inbound: datagrams go to the current handler, unless they belong to an association of a
 * replaced one.
 */
export class DatagramSide {
  readonly #tag: string;
  readonly #tracker: Tracker;
  readonly #ownListeners: OwnListeners;
  readonly #onClose: () => void;
  /** The current handler first, then replaced ones with associations. */
  #handlers: readonly ServingHandler[] = [];

  /** @param onClose called when a session has ended */
  constructor(tag: string, tracker: Tracker, ownListeners: OwnListeners, onClose: () => void) {
    this.#tag = tag;
    this.#tracker = tracker;
    this.#ownListeners = ownListeners;
    this.#onClose = onClose;
  }

  get sessions(): number {
    return this.#handlers.reduce((sessions, { live }) => sessions + live.count, 0);
  }

  /** Serves new clients by `handler` from now on. */
  swap(handler: InboundHandler): void {
    this.#handlers[0]?.server.retire?.();
    const live = new LiveSessions(this.#tag, this.#tracker, this.#ownListeners, this.#onClose);
    const server = handler.serveDatagrams?.(live) ?? NO_DATAGRAMS;
    this.#handlers = [{ server, live }, ...this.#handlers.filter((old) => old.live.count > 0)];
  }

  receive(packet: Packet, replies: ReplyPath, known = !replies.acceptsClients): boolean {
    const [current, ...replaced] = this.#handlers;
    for (const { server, live } of replaced) {
      if (live.count > 0 && server.receive(packet, replies, true)) return true;
    }
    return current?.server.receive(packet, replies, known) ?? false;
  }

  destroy(cause: Error): void {
    this.#handlers[0]?.server.retire?.();
    for (const { live } of this.#handlers) live.destroy(cause);
  }
}

/** The server of a handler without datagrams. */
const NO_DATAGRAMS: DatagramServer = { receive: () => false };

/**
 * The runtime of one inbound: opens a session for each accepted carrier and passes it to the current
 * handler; datagrams are passed to it as well. Sessions may outlive the listener and the handler that they
 * started with.
 */
export class InboundRuntime {
  readonly tag: string;
  /** State that the inbound's successive handlers share. */
  readonly memory: InboundMemory;
  readonly #tracker: Tracker;
  readonly #ownListeners: OwnListeners;
  readonly #log: Logger;
  readonly #live = new ChurnMap<LiveSession, Carrier>();
  readonly #datagrams: DatagramSide;
  #handler: InboundHandler;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(
    tag: string,
    memory: InboundMemory,
    handler: InboundHandler,
    tracker: Tracker,
    ownListeners: OwnListeners,
    log: Logger,
  ) {
    this.tag = tag;
    this.memory = memory;
    this.#tracker = tracker;
    this.#ownListeners = ownListeners;
    this.#log = log;
    this.#handler = handler;
    this.#datagrams = new DatagramSide(tag, tracker, ownListeners, () => this.#settle());
    this.#begin(handler);
  }

  get sessions(): number {
    return this.#live.size + this.#datagrams.sessions;
  }

  /**
   * Serves new carriers and clients by `handler`. Live ones keep their handler, but can open flows only while
   * `handler` accepts their account.
   */
  swap(handler: InboundHandler): void {
    this.#handler = handler;
    this.#begin(handler);
  }

  /** Serves an accepted carrier. Its failure ends only its own session. */
  readonly accept = (carrier: Carrier): void => {
    const session = this.#tracker.openSession(
      this.tag,
      carrier.remote?.host,
      carrier.wire,
      this.#ownListeners.chainOf(carrier.remote, carrier.local),
      carrier.onAuthenticated,
    );
    session.isFresh = true;
    this.#live.set(session, carrier);
    this.#serve(carrier, session);
  };

  /** Number of live associations. */
  get associations(): number {
    return this.#datagrams.sessions;
  }

  /**
   * Serves a datagram that a client sent to the listen address.
   * @param known whether it is only served if it belongs to an association
   * @returns whether it does
   */
  readonly receive = (packet: Packet, replies: ReplyPath, known?: boolean): boolean =>
    this.#datagrams.receive(packet, replies, known);

  /** Resolves when no session remains. */
  whenIdle(): Promise<void> {
    if (this.sessions === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers<void>();
    return this.#idle.promise;
  }

  /** Ends every live session, in this and later turns of the event loop. */
  destroy(cause: Error): void {
    void endInTurns([...this.#live.values()], ({ link }) => link.destroy(cause));
    this.#datagrams.destroy(cause);
  }

  /**
   * Serves a carrier with callbacks, since the frame of an async function would be kept as long as the carrier is open.
   */
  #serve(carrier: Carrier, session: LiveSession): void {
    const end = (): void => {
      carrier.link.destroy();
      carrier.onOver?.();
      session.close();
      this.#live.delete(session);
      this.#settle();
    };
    const onFailed = (error: unknown): void => {
      this.#log.debug(`inbound ${this.tag}: session ${session.id}: ${messageOf(error)}`);
      end();
    };
    try {
      this.#handler.serve(carrier, session).then(end, onFailed);
    } catch (error) {
      // Thrown before a promise was returned.
      onFailed(error);
    }
  }

  /** Starts using a handler: accepts its accounts, and passes new datagrams to it. */
  #begin(handler: InboundHandler): void {
    accountsOf(this.memory).replace(handler.accounts ?? NO_ACCOUNTS);
    this.#datagrams.swap(handler);
  }

  #settle(): void {
    if (this.sessions > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}
