import { copyEndpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { Keyed } from './flow-table.ts';
import type { TcpConnection } from '../tcp/connection.ts';
import type { TcpEvent } from '../tcp/events.ts';
import type { Timed } from '../../collections/timer-wheel.ts';

/** What a connection is for: gets its events. */
export interface TcpOwner {
  onEvent(event: TcpEvent): void;
  /** The stack has ended, or gave the connection up. Idempotent. */
  fail(error: Error): void;
}

/**
 * A TCP connection with its place in the stack.
 *
 * The application's calls are those of `connection`; each is followed by `touch` of the stack.
 */
export class TcpFlow implements Keyed, Timed {
  readonly network = 'tcp';
  /** This end: of an accepted connection the destination that the client asked for. */
  readonly local: IpEndpoint;
  readonly remote: IpEndpoint;
  readonly connection: TcpConnection;
  owner: TcpOwner | undefined;
  /** The packet of the SYN, as long as its request is not decided: what an ICMP message quotes. */
  syn: Uint8Array | undefined;

  /** Bytes that it held when it was looked at last. */
  held = 0;
  /** What its path was looked up for last; of `TcpFlows`. */
  pathVersion = 0;
  /** Whether it has left the stack; what was received may still be read. */
  isForgotten = false;

  // Its places in the queues, the table and the wheel; theirs alone.
  isEventful = false;
  isReady = false;
  hash = 0;
  nextKeyed: Keyed | undefined = undefined;
  slot = -1;
  tick = 0;
  nextTimed: Timed | undefined = undefined;
  previousTimed: Timed | undefined = undefined;

  constructor(local: IpEndpoint, remote: IpEndpoint, connection: TcpConnection) {
    this.local = copyEndpoint(local);
    this.remote = copyEndpoint(remote);
    this.connection = connection;
  }
}
