import type { Packet, ReplyPath } from '../net/link.ts';
import type { DatagramServer, DatagramSessions, InboundHandler } from '../protocols/contract.ts';
import type { LiveSession, Tracker } from '../tracker/tracker.ts';

/** The datagram server of one handler, with its live associations. */
interface ServingHandler {
  readonly server: DatagramServer;
  readonly live: Map<LiveSession, (cause: Error) => void>;
}

/**
 * The datagrams of one inbound: the current handler takes them, unless they belong to an association
 * of a replaced one.
 */
export class DatagramSide {
  readonly #tag: string;
  readonly #tracker: Tracker;
  readonly #onClose: () => void;
  /** The current handler first, then replaced ones with associations. */
  #handlers: readonly ServingHandler[] = [];

  /** `onClose` is called when a session has ended. */
  constructor(tag: string, tracker: Tracker, onClose: () => void) {
    this.#tag = tag;
    this.#tracker = tracker;
    this.#onClose = onClose;
  }

  get sessions(): number {
    return this.#handlers.reduce((sessions, { live }) => sessions + live.size, 0);
  }

  /** New clients are served by `handler`. */
  swap(handler: InboundHandler): void {
    this.#handlers[0]?.server.retire?.();
    const live: ServingHandler['live'] = new Map();
    const server = handler.serveDatagrams?.(this.#sessionsOf(live)) ?? NO_DATAGRAMS;
    this.#handlers = [{ server, live }, ...this.#handlers.filter((old) => old.live.size > 0)];
  }

  receive(packet: Packet, replies: ReplyPath): void {
    const [current, ...replaced] = this.#handlers;
    for (const { server, live } of replaced) {
      if (live.size > 0 && server.receive(packet, replies, true)) return;
    }
    current?.server.receive(packet, replies, false);
  }

  destroy(cause: Error): void {
    this.#handlers[0]?.server.retire?.();
    for (const { live } of this.#handlers) for (const destroy of live.values()) destroy(cause);
  }

  #sessionsOf(live: ServingHandler['live']): DatagramSessions {
    return {
      open: (source, wire, destroy) => {
        const session = this.#tracker.openSession(this.#tag, source, wire);
        live.set(session, destroy);
        const close = (): void => {
          if (!live.delete(session)) return;
          session.close();
          this.#onClose();
        };
        return { session, close };
      },
    };
  }
}

/** In place of a handler that serves no datagrams. */
const NO_DATAGRAMS: DatagramServer = { receive: () => false };
