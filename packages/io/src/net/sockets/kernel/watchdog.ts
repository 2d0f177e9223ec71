import { pollEvents } from '../../../platform/sockets/poller.ts';
import type { StreamSocket } from '../../../platform/sockets/streams/stream-socket.ts';
import type { Clock, Timer } from '../../time/clock.ts';

/** Milliseconds that a link may wait while its socket is ready; after that, an event was lost. */
const PATIENCE_MS = 1_000;

/** A link, as seen by the watchdog. */
export interface WatchedLink {
  readonly socket: StreamSocket;
  /** The events that the link waits for. */
  readonly waitsFor: { readonly input: boolean; readonly output: boolean };
}

/** A link that waits although its socket is ready: an event was lost. */
export interface LostEvent {
  readonly fd: number;
  readonly waitsFor: 'input' | 'output';
  readonly waitedMs: number;
  /** The bits that poll(2) reports. */
  readonly events: number;
  /** Number of bytes that can be received. */
  readonly unread: number;
  /** The last system calls and events of the descriptor. */
  readonly history: readonly string[];
}

/**
 * Watches the links of a thread in the debug mode. A link that has waited for a second although two checks,
 * with a turn of the event loop between them, found its socket ready by poll(2), shows a defect of this
 * layer and is reported once with its history.
 */
export class LinkWatchdog implements Disposable {
  readonly #clock: Clock;
  readonly #report: (lost: LostEvent) => void;
  /** Time at which each waiting link last had no event outstanding. */
  readonly #waiting = new Map<WatchedLink, number>();
  /** Links that the last check found ready, but whose events may be outstanding, as after the process was stopped. */
  readonly #suspects = new Set<WatchedLink>();
  #timer: Timer | undefined;

  constructor(clock: Clock, report: (lost: LostEvent) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  /** Number of links that are watched. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Adds a link that begins to wait. */
  watch(link: WatchedLink): void {
    this.#waiting.set(link, this.#clock.now());
    this.#suspects.delete(link);
    this.#timer ??= this.#clock.after(PATIENCE_MS, this.#look);
  }

  /** Removes a link that is closed. */
  forget(link: WatchedLink): void {
    this.#waiting.delete(link);
    this.#suspects.delete(link);
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#waiting.clear();
    this.#suspects.clear();
  }

  /** Checks the waiting links; called by the timer, and by tests. */
  readonly look = (): void => {
    const now = this.#clock.now();
    for (const [link, since] of this.#waiting) {
      const { input, output } = link.waitsFor;
      if (!input && !output) {
        this.forget(link);
        continue;
      }
      const { socket } = link;
      const events = pollEvents(socket.io, socket.fd, { input, output });
      if (events === 0) {
        this.#waiting.set(link, now);
        this.#suspects.delete(link);
      } else if (now - since < PATIENCE_MS) {
        continue;
      } else if (!this.#suspects.has(link)) {
        this.#suspects.add(link);
      } else {
        this.forget(link);
        this.#report({
          fd: socket.fd,
          waitsFor: input ? 'input' : 'output',
          waitedMs: now - since,
          events,
          unread: socket.unread(),
          history: socket.io.calls.debug?.historyOf(socket.fd) ?? [],
        });
      }
    }
  };

  readonly #look = (): void => {
    this.#timer = undefined;
    try {
      this.look();
    } finally {
      if (this.#waiting.size > 0) this.#timer = this.#clock.after(PATIENCE_MS, this.#look);
    }
  };
}
