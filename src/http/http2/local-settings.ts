import type { Sender } from './sender.ts';
import { encodeSettings, INITIAL_WINDOW, type Http2Settings } from './settings.ts';

interface Announced {
  readonly settings: Http2Settings;
  readonly onAck: (() => void) | undefined;
}

/** The settings of this side. They take effect once the peer has acknowledged them (RFC 9113 §6.5.3). */
export class LocalSettings {
  readonly #sender: Sender;
  readonly #initial: Http2Settings;
  /** Unacknowledged SETTINGS frames, in order. */
  readonly #announced: Announced[] = [];
  /** The window of new streams in bytes: the larger one while a change is unacknowledged. */
  #window = INITIAL_WINDOW;
  #announcedWindow: number;
  #streamLimit: number;

  constructor(initial: Http2Settings, sender: Sender) {
    this.#initial = initial;
    this.#sender = sender;
    this.#announcedWindow = initial.initialWindowSize ?? INITIAL_WINDOW;
    this.#streamLimit = initial.maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
  }

  /** The initial receive window of a stream in bytes. */
  get window(): number {
    return this.#window;
  }

  /** The most recently announced window in bytes. */
  get announcedWindow(): number {
    return this.#announcedWindow;
  }

  /** Maximum number of concurrent streams of the peer. */
  get streamLimit(): number {
    return this.#streamLimit;
  }

  /** Number of unacknowledged changes. */
  get pending(): number {
    return this.#announced.length;
  }

  /** Sends the first SETTINGS. */
  announce(): void {
    this.change(this.#initial, undefined);
  }

  change(settings: Http2Settings, onAck: (() => void) | undefined): void {
    const { initialWindowSize, maxConcurrentStreams } = settings;
    if (initialWindowSize !== undefined) {
      this.#announcedWindow = initialWindowSize;
      this.#window = Math.max(this.#window, initialWindowSize);
    }
    if (maxConcurrentStreams !== undefined) {
      this.#streamLimit = Math.max(this.#streamLimit, maxConcurrentStreams);
    }
    this.#announced.push({ settings, onAck });
    this.#sender.settings(encodeSettings(settings));
  }

  /** Called when the peer has acknowledged the oldest change. Returns false if there is none. */
  acknowledged(): boolean {
    const next = this.#announced.shift();
    if (!next) return false;
    const { initialWindowSize, maxConcurrentStreams } = next.settings;
    // Larger values announced later are in effect already.
    if (initialWindowSize !== undefined) {
      this.#window = this.#largest(initialWindowSize, (each) => each.initialWindowSize);
    }
    if (maxConcurrentStreams !== undefined) {
      this.#streamLimit = this.#largest(maxConcurrentStreams, (each) => each.maxConcurrentStreams);
    }
    next.onAck?.();
    return true;
  }

  #largest(value: number, of: (settings: Http2Settings) => number | undefined): number {
    return Math.max(value, ...this.#announced.map(({ settings }) => of(settings) ?? 0));
  }
}
