import type { Http2Connection } from '../../http2/connection.ts';
import { HEADER_LIST_LIMIT } from '../../http2/limits.ts';
import type { Http2Settings } from '../../http2/settings.ts';
import { toRequestTarget } from '../ws/handshake.ts';

/**
 * The window of a stream: 64 KB would limit a tunnel to 640 KB/s at a round trip of 100 ms. With
 * many tunnels it is smaller, see StreamWindow.
 */
export const STREAM_WINDOW = 2 << 20;

/** The SETTINGS that either side sends. */
export const SETTINGS: Http2Settings = {
  enablePush: false,
  initialWindowSize: STREAM_WINDOW,
  maxHeaderListSize: HEADER_LIST_LIMIT,
};

/** The window of a whole connection; unread data of a stalled tunnel does not count against it. */
export const CONNECTION_WINDOW = 16 << 20;

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
  readonly #connection: Http2Connection;
  readonly #limitsTunnels: boolean;
  #size = STREAM_WINDOW;
  #tunnels = 0;
  /** One change at a time. */
  #changing = false;

  /** @param limitsTunnels whether it is the peer that opens tunnels. */
  constructor(connection: Http2Connection, limitsTunnels: boolean) {
    this.#connection = connection;
    this.#limitsTunnels = limitsTunnels;
  }

  /** Adjusts the window to the number of tunnels. */
  adjust(tunnels: number): void {
    this.#tunnels = tunnels;
    if (this.#changing || this.#connection.state === 'closed') return;
    const share = Math.floor(HELD_LIMIT / Math.max(1, tunnels));
    const size = Math.min(STREAM_WINDOW, Math.max(SMALLEST_WINDOW, share));
    if (size > this.#size / 2 && size < this.#size * 2) return;
    const window = { initialWindowSize: size };
    const settings: Http2Settings = this.#limitsTunnels
      ? { ...window, maxConcurrentStreams: tunnelLimit(size) }
      : window;
    const sent = this.#connection.changeSettings(settings, () => {
      this.#changing = false;
      this.adjust(this.#tunnels);
    });
    if (!sent) return;
    this.#changing = true;
    this.#size = size;
  }
}
