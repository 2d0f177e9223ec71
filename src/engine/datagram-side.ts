import type { Packet, ReplyPath } from '../net/links/link.ts';
import type { OwnListeners } from '../net/own-listeners.ts';
import type { DatagramServer, InboundHandler } from '../protocols/contract.ts';
import type { Tracker } from '../tracker/tracker.ts';
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
  #isDraining = false;

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

  receive(packet: Packet, replies: ReplyPath): void {
    const [current, ...replaced] = this.#handlers;
    for (const { server, live } of replaced) {
      if (live.count > 0 && server.receive(packet, replies, true)) return;
    }
    current?.server.receive(packet, replies, this.#isDraining);
  }

  /** Stops serving new clients; resolves when no association remains. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await Promise.all(this.#handlers.map(({ live }) => live.whenIdle()));
  }

  /** Serves new clients again. */
  accept(): void {
    this.#isDraining = false;
  }

  destroy(cause: Error): void {
    this.#handlers[0]?.server.retire?.();
    for (const { live } of this.#handlers) live.destroy(cause);
  }
}

/** The server of a handler without datagrams. */
const NO_DATAGRAMS: DatagramServer = { receive: () => false };
