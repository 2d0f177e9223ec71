import type { WireCounter } from '../net/links/link.ts';
import type { Lineage } from '../net/own-listeners.ts';

/** One accepted carrier while it is open. */
export interface Session {
  readonly id: number;
  readonly inbound: string;
  /** The client's current IP address, which may change; `undefined` on a unix socket. */
  readonly source: string | undefined;
  /** Label of the user, set by the first flow of the session. */
  readonly user: string | undefined;
  /** Time at which the carrier was accepted, in milliseconds of the monotonic clock. */
  readonly startedAt: number;
  /** The connection that this process opened itself to reach its own inbound, if any. */
  readonly lineage?: Lineage | undefined;
  /**
   * Whether no flow has begun on the session: the first flow of an accepted connection begins even when the process is
   * stopping. `undefined` if a session is one of several on a connection, or a connection has many flows.
   */
  isFresh?: boolean;
  /** Marks the client as authenticated; called for each request. `undefined` if this makes no difference. */
  authenticated?(): void;
  /** Adds a socket whose wire bytes count for the session, such as a UDP relay socket. */
  attach(wire: WireCounter): void;
}
