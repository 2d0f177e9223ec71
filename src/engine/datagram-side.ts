import type { Packet, ReplyPath } from '../net/link.ts';
import type { DatagramServer, DatagramSessions, InboundHandler } from '../protocols/contract.ts';
import type { LiveSession, Tracker } from '../tracker/tracker.ts';

/** What serves the datagrams of one handler, with its live associations. */
interface Served {
  readonly server: DatagramServer;
  readonly live: Map<LiveSession, (cause: Error) => void>;
}

/**
 * The datagrams of one inbound: they go to the handler of the moment, unless they belong to an
 * association of one that was replaced.
 */
export class DatagramSide {
  readonly #tag: string;
  readonly #tracker: Tracker;
  readonly #onClose: () => void;
  /** The handler of the moment first, then replaced ones that have associations. */
  #served: readonly Served[] = [];

  /** `onClose` is called when a session has ended. */
  constructor(tag: string, tracker: Tracker, onClose: () => void) {
    this.#tag = tag;
    this.#tracker = tracker;
    this.#onClose = onClose;
  }

  get sessions(): number {
    return this.#served.reduce((sessions, { live }) => sessions + live.size, 0);
  }

  /** New clients are served by `handler`. */
  swap(handler: InboundHandler): void {
    const live: Served['live'] = new Map();
    const server = handler.serveDatagrams?.(this.#sessionsOf(live)) ?? DEAF;
    this.#served = [{ server, live }, ...this.#served.filter((old) => old.live.size > 0)];
  }

  receive(packet: Packet, answers: ReplyPath): void {
    const [current, ...replaced] = this.#served;
    for (const { server, live } of replaced) {
      if (live.size > 0 && server.receive(packet, answers, true)) return;
    }
    current?.server.receive(packet, answers, false);
  }

  destroy(cause: Error): void {
    for (const { live } of this.#served) for (const destroy of live.values()) destroy(cause);
  }

  #sessionsOf(live: Served['live']): DatagramSessions {
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
const DEAF: DatagramServer = { receive: () => false };
