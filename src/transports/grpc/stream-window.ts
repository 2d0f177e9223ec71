import type { Http2Session, Settings } from 'node:http2';
import { STREAM_WINDOW, TUNNEL_LIMIT } from './settings.ts';

/** What the tunnels of a connection should hold at most together, when nobody reads them. */
const HELD_LIMIT = 64 << 20;
/** And the most that a peer gets out of a connection that does not go along with that. */
const HELD_BOUND = 512 << 20;
const SMALLEST_WINDOW = 64 << 10;

/** How many tunnels a peer may have at once when each has a window of `size` bytes. */
export const tunnelLimit = (size: number): number =>
  Math.min(TUNNEL_LIMIT, Math.floor(HELD_BOUND / size));

/**
 * Gives each tunnel of a connection the smaller a window the more of them there are. Many tunnels
 * are allowed only together with small windows, in the same SETTINGS frame: neither holds before
 * the peer has acknowledged both.
 */
export class StreamWindow {
  readonly #session: Http2Session;
  readonly #limitsTunnels: boolean;
  #size = STREAM_WINDOW;
  #tunnels = 0;
  /** One change at a time: a session bears few that are not acknowledged. */
  #changing = false;

  /** @param limitsTunnels whether it is the peer that opens tunnels. */
  constructor(session: Http2Session, limitsTunnels: boolean) {
    this.#session = session;
    this.#limitsTunnels = limitsTunnels;
  }

  /** Tells how many tunnels there are now. */
  fit(tunnels: number): void {
    this.#tunnels = tunnels;
    if (this.#changing || this.#session.destroyed) return;
    const share = Math.floor(HELD_LIMIT / Math.max(1, tunnels));
    const size = Math.min(STREAM_WINDOW, Math.max(SMALLEST_WINDOW, share));
    if (size > this.#size / 2 && size < this.#size * 2) return;
    const settings: Settings = { initialWindowSize: size };
    if (this.#limitsTunnels) settings.maxConcurrentStreams = tunnelLimit(size);
    this.#changing = true;
    this.#size = size;
    this.#session.settings(settings, () => {
      this.#changing = false;
      this.fit(this.#tunnels);
    });
  }
}
