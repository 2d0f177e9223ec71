import type { Http2Connection, Http2Settings } from '@weir/http/http2';
import { HEADER_LIST_LIMIT } from '@weir/http/fields';
import { UNPROVEN_TUNNELS } from '../limits.ts';
import { toPathSegment, toRequestTarget } from '../request-target.ts';

/**
 * Initial flow-control window of a stream in bytes: 64 KB would limit a tunnel to 640 KB/s at a round trip of 100 ms.
 * With many tunnels it is smaller; see `StreamWindow`.
 */
const STREAM_WINDOW = 2 << 20;

/** The SETTINGS that both clients and servers send. */
export const SETTINGS: Http2Settings = {
  enablePush: false,
  initialWindowSize: STREAM_WINDOW,
  maxHeaderListSize: HEADER_LIST_LIMIT,
};

/** Flow-control window of a connection in bytes; unread data of a stalled tunnel does not count against it. */
export const CONNECTION_WINDOW = 16 << 20;

/** Limit of concurrent tunnels on one connection, which may carry all flows of a peer. */
const TUNNEL_LIMIT = 8192;

export const CONTENT_TYPE = 'application/grpc';

type Method = 'Tun' | 'TunMulti';

/** Returns the path of a method; the service name is escaped as one path segment, as in Xray and sing-box. */
export const tunnelPath = (serviceName: string, method: Method): string =>
  `/${toPathSegment(serviceName)}/${method}`;

/**
 * Returns the paths by which clients call a method: v2ray does not escape the service name, and other clients escape
 * less of it.
 */
export const tunnelPaths = (serviceName: string, method: Method): readonly string[] => [
  tunnelPath(serviceName, method),
  `/${serviceName}/${method}`,
  toRequestTarget(`/${serviceName}/${method}`),
];

/** Bytes of unread data that the windows of all tunnels of a connection should allow. */
const HELD_LIMIT = 64 << 20;
/** Bytes of unread data that a peer which ignores reduced windows can cause; limits the number of tunnels. */
const HELD_BOUND = 512 << 20;
const SMALLEST_WINDOW = 64 << 10;

/** Returns how many tunnels of `size` bytes of window a peer may have at once. */
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
  /** The announced limit of the peer's tunnels; 0 if this side opens the tunnels. */
  #limit: number;
  #isProven = false;
  #tunnels = 0;
  /** Whether a SETTINGS frame is unacknowledged: only one change is made at a time. */
  #changing = false;

  /** @param limitsTunnels whether the peer opens the tunnels. */
  constructor(connection: Http2Connection, limitsTunnels: boolean) {
    this.#connection = connection;
    this.#limitsTunnels = limitsTunnels;
    this.#limit = this.#limitFor(STREAM_WINDOW);
  }

  /** Called when a tunnel of the peer has authenticated: the peer may open more than UNPROVEN_TUNNELS. */
  prove(): void {
    this.#isProven = true;
    // Sent at once, not after a pending change of windows: further tunnels may wait for it.
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
