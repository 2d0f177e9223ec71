import type { Settings } from 'node:http2';
import { toRequestTarget } from '../ws/handshake.ts';

/**
 * What a peer may send before a reader takes it: 64 KB would hold a tunnel to 640 KB/s at 100 ms.
 * With many tunnels it becomes less.
 */
export const STREAM_WINDOW = 2 << 20;

/** What both sides of a connection allow the other. */
export const SETTINGS: Settings = {
  enablePush: false,
  initialWindowSize: STREAM_WINDOW,
  maxHeaderListSize: 16 << 10,
};

/** Of a whole connection; what a stalled tunnel holds back does not count against it. */
export const CONNECTION_WINDOW = 16 << 20;

export const SESSION_OPTIONS = {
  maxHeaderListPairs: 64,
  // In MB; what thousands of tunnels have waiting to be sent counts as well.
  maxSessionMemory: 512,
} as const;

/** Tunnels at once on one connection of a peer, which may well be all that the peer's users do. */
export const TUNNEL_LIMIT = 8192;

export const CONTENT_TYPE = 'application/grpc';

/** The paths of a service; its name is inserted as it is, as far as HTTP allows it. */
export const tunnelPath = (serviceName: string, method: 'Tun' | 'TunMulti'): string =>
  toRequestTarget(`/${serviceName}/${method}`);
