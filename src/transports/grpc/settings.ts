import type { Settings, Http2Session } from 'node:http2';
import { toRequestTarget } from '../ws/handshake.ts';

/**
 * The window of a stream: 64 KB would limit a tunnel to 640 KB/s at a round trip of 100 ms. With
 * many tunnels it is smaller, see StreamWindow.
 */
export const STREAM_WINDOW = 2 << 20;

/** The SETTINGS that either side sends. */
export const SETTINGS: Settings = {
  enablePush: false,
  initialWindowSize: STREAM_WINDOW,
  maxHeaderListSize: 16 << 10,
};

/** The window of a whole connection; unread data of a stalled tunnel does not count against it. */
export const CONNECTION_WINDOW = 16 << 20;

export const SESSION_OPTIONS = {
  maxHeaderListPairs: 64,
  // In MB; it includes the unsent data of thousands of tunnels.
  maxSessionMemory: 512,
} as const;

/** Concurrent tunnels on one connection, which may carry all flows of a peer. */
export const TUNNEL_LIMIT = 8192;

export const CONTENT_TYPE = 'application/grpc';

/** The path of a method; characters that HTTP does not allow in a path are encoded. */
export const tunnelPath = (serviceName: string, method: 'Tun' | 'TunMulti'): string =>
  toRequestTarget(`/${serviceName}/${method}`);

/** Unread data that the tunnels of a connection should hold together at most. */
const HELD_LIMIT = 64 << 20;
/** The same for a peer that does not follow the smaller windows. */
const HELD_BOUND = 512 << 20;
const SMALLEST_WINDOW = 64 << 10;

/** How many tunnels a peer may have at once when each has a window of `size` bytes. */
export const tunnelLimit = (size: number): number =>
  Math.min(TUNNEL_LIMIT, Math.floor(HELD_BOUND / size));

/**
 * Shrinks the window of each tunnel as the number of tunnels of a connection grows. More tunnels
 * and smaller windows are announced in one SETTINGS frame, so that neither applies before the peer
 * has acknowledged both.
 */
export class StreamWindow {
  readonly #session: Http2Session;
  readonly #limitsTunnels: boolean;
  #size = STREAM_WINDOW;
  #tunnels = 0;
  /** One change at a time: a session allows few unacknowledged SETTINGS. */
  #changing = false;

  /** @param limitsTunnels whether it is the peer that opens tunnels. */
  constructor(session: Http2Session, limitsTunnels: boolean) {
    this.#session = session;
    this.#limitsTunnels = limitsTunnels;
  }

  /** Adjusts the window to the number of tunnels. */
  adjust(tunnels: number): void {
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
      this.adjust(this.#tunnels);
    });
  }
}
