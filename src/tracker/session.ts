import type { WireCounter } from '../net/links/link.ts';
import type { Lineage } from '../net/loop-guard/own-listeners.ts';

/** One accepted carrier while it is open. */
export interface Session {
  readonly id: number;
  readonly inbound: string;
  /** The client's current IP address, which may change; `undefined` on a unix socket. */
  readonly source: string | undefined;
  /** Label of the user, set by the first flow of the session. */
  readonly user: string | undefined;
  /** Time of its acceptance, in milliseconds of the monotonic clock. */
  readonly startedAt: number;
  /** Set when this process has opened the carrier's connection itself. */
  readonly lineage?: Lineage | undefined;
  /**
   * Whether no flow has begun on it: the first one of an accepted connection begins even when the process is
   * stopping. Left out where a session is one of several on a connection, or a connection has many flows.
   */
  isFresh?: boolean;
  /** The client has authenticated; called for each request. Left out where this makes no difference. */
  authenticated?(): void;
  /** Adds a socket whose wire bytes count for the session, such as a UDP relay socket. */
  attach(wire: WireCounter): void;
}
