import type { Http2Connection } from '../../http/http2/connection.ts';
import { HEADER_LIST_LIMIT } from '../../http/http2/limits.ts';
import type { Http2Settings } from '../../http/http2/settings.ts';
import { UNPROVEN_TUNNELS } from '../limits.ts';
import { toPathSegment, toRequestTarget } from '../request-target.ts';

/**
 * The window of a stream: 64 KB would limit a tunnel to 640 KB/s at a round trip of 100 ms. With
 * many tunnels it is smaller, see StreamWindow.
 */
const STREAM_WINDOW = 2 << 20;

/** The SETTINGS that either side sends. */
export const SETTINGS: Http2Settings = {
  enablePush: false,
  initialWindowSize: STREAM_WINDOW,
  maxHeaderListSize: HEADER_LIST_LIMIT,
};

/** The window of a whole connection; unread data of a stalled tunnel does not count against it. */
export const CONNECTION_WINDOW = 16 << 20;

/** Concurrent tunnels on one connection, which may carry all flows of a peer. */
const TUNNEL_LIMIT = 8192;

export const CONTENT_TYPE = 'application/grpc';

type Method = 'Tun' | 'TunMulti';

/** The path of a method: the name is one segment, as for Xray and sing-box. */
export const tunnelPath = (serviceName: string, method: Method): string =>
  `/${toPathSegment(serviceName)}/${method}`;

/** The paths by which clients call a method: v2ray's do not escape the name, and others less of it. */
export const tunnelPaths = (serviceName: string, method: Method): readonly string[] => [
  tunnelPath(serviceName, method),
  `/${serviceName}/${method}`,
  toRequestTarget(`/${serviceName}/${method}`),
];

/** Unread data of all tunnels of a connection that their windows should allow, in bytes. */
const HELD_LIMIT = 64 << 20;
/** The same for a peer that ignores reduced windows: it bounds the number of tunnels. */
const HELD_BOUND = 512 << 20;
const SMALLEST_WINDOW = 64 << 10;

/** How many tunnels a peer may have at once when each has a window of `size` bytes. */
const tunnelLimit = (size: number): number => Math.min(TUNNEL_LIMIT, Math.floor(HELD_BOUND / size));

/**
 * Shrinks the window of each tunnel as the number of tunnels of a connection grows. More tunnels
 * and smaller windows are announced in one SETTINGS frame, so that neither applies before the peer
 * has acknowledged both.
 */
export class StreamWindow {
  readonly #connection: Http2Connection;
  readonly #limitsTunnels: boolean;
  #size = STREAM_WINDOW;
  /** Tunnels that the peer may have, as announced; 0 where this side opens them. */
  #limit: number;
  #isProven = false;
  #tunnels = 0;
  /** One change at a time. */
  #changing = false;

  /** @param limitsTunnels whether it is the peer that opens tunnels. */
  constructor(connection: Http2Connection, limitsTunnels: boolean) {
    this.#connection = connection;
    this.#limitsTunnels = limitsTunnels;
    this.#limit = this.#limitFor(STREAM_WINDOW);
  }

  /** A tunnel of the peer has authenticated: it may have more than UNPROVEN_TUNNELS. */
  prove(): void {
    this.#isProven = true;
    // At once, and not with a change of windows that may be under way: further ones may wait for it.
    this.#limit = this.#limitFor(STREAM_WINDOW);
    this.#connection.changeSettings({ maxConcurrentStreams: this.#limit }, () => undefined);
    this.adjust(this.#tunnels);
  }

  /** Adjusts the window to the number of tunnels. */
  adjust(tunnels: number): void {
    this.#tunnels = tunnels;
    if (this.#changing || this.#connection.state === 'closed') return;
    const share = Math.floor(HELD_LIMIT / Math.max(1, tunnels));
    const wanted = Math.min(STREAM_WINDOW, Math.max(SMALLEST_WINDOW, share));
    const isClose = wanted > this.#size / 2 && wanted < this.#size * 2;
    const size = isClose ? this.#size : wanted;
    const limit = this.#limitFor(size);
    if (isClose && limit === this.#limit) return;
    const window = { initialWindowSize: size };
    const settings: Http2Settings = this.#limitsTunnels
      ? { ...window, maxConcurrentStreams: limit }
      : window;
    const sent = this.#connection.changeSettings(settings, () => {
      this.#changing = false;
      this.adjust(this.#tunnels);
    });
    if (!sent) return;
    this.#changing = true;
    this.#size = size;
    this.#limit = limit;
  }

  #limitFor(size: number): number {
    if (!this.#limitsTunnels) return 0;
    return this.#isProven ? tunnelLimit(size) : UNPROVEN_TUNNELS;
  }
}
