import type { WireCounter } from '../net/links/link.ts';
import type { Lineage } from '../net/loop-guard/own-listeners.ts';

/** One accepted carrier, as long as it lives. */
export interface Session {
  readonly id: number;
  readonly inbound: string;
  /** The client's IP address, the newest one of a client that has moved; `undefined` on a unix socket. */
  readonly source: string | undefined;
  /** The label that the session's first flow bound to it. */
  readonly user: string | undefined;
  /** When it was accepted, on the monotonic clock. */
  readonly startedAt: number;
  /** Set when this process itself has made the carrier's connection. */
  readonly lineage?: Lineage | undefined;
  /** Its client has authenticated: called with each request. Left out where nothing waits for that. */
  authenticated?(): void;
  /** Adds a socket whose wire bytes belong to the session (the carrier, a UDP relay socket). */
  attach(wire: WireCounter): void;
}
