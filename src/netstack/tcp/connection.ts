import type { TcpSegment } from '../wire/tcp.ts';
import type { TcpEvent, TcpFailure } from './events.ts';
import type { SegmentOutput, TcpPath } from './segment-output.ts';
import type { TcpState } from './state.ts';
import type { TimeWait } from './time-wait.ts';

/** What a connection is created with. */
export interface TcpConnectionOptions {
  readonly role: 'active' | 'passive';
  /** See `InitialSequences`. */
  readonly initialSequence: number;
  /** Added to the clock in timestamps (RFC 7323 §5.4), see `InitialSequences`. */
  readonly timestampOffset: number;
  readonly path: TcpPath;
  readonly settings: TcpSettings;
  readonly now: number;
}

export interface TcpSettings {
  /** Milliseconds of silence of the peer before a keep-alive probe; 0 for none. */
  readonly keepAlive: number;
  /** Milliseconds that sent data may remain unacknowledged. */
  readonly userTimeout: number;
}

/**
 * A TCP connection (RFC 9293) as a function of segments and time. Nothing that a peer sends makes a method
 * throw. After every call: `transmit` until it returns false or the output is full, events until there are
 * none, `transmit` again where handling them wrote anything, then `nextTimeout`.
 *
 * A passive connection is made in LISTEN for a SYN that is passed to `segmentArrives`; the SYN-ACK leaves
 * after `accept`, or with `accept` called before.
 */
export declare class TcpConnection {
  constructor(options: TcpConnectionOptions);
  readonly state: TcpState;
  /** Why it ended early. */
  readonly failure: TcpFailure | undefined;
  /** Set when it entered TIME-WAIT: to be kept in a `TimeWaitTable` in its place. */
  readonly timeWait: TimeWait | undefined;

  // ---- the stack's calls ----
  /** @param segment reused by the caller, and valid during the call only. */
  segmentArrives(segment: TcpSegment, now: number): void;
  /**
   * Writes what may leave now, `budget` bytes of payload at most (and one segment at least).
   * @returns whether there is more: call again when the output has room and others had their turn.
   */
  transmit(now: number, out: SegmentOutput, budget: number): boolean;
  nextTimeout(): number;
  onTimeout(now: number): void;
  nextEvent(): TcpEvent | undefined;
  /** Whether this sequence number is in flight: ICMP errors about others are ignored (RFC 5927 §4). */
  isInFlight(sequence: number): boolean;
  /** The path takes packets of another size from now on: a verified ICMP message, or another MTU of the device. */
  onPathMtu(segmentBytes: number, now: number): void;
  /** ICMP reports the destination as unreachable, for a packet with this sequence number (RFC 5461, RFC 5927). */
  onUnreachable(sequence: number, now: number): void;

  // ---- the application's calls ----
  /** The SYN-ACK leaves with the next `transmit`. */
  accept(): void;
  /** Ends a request that was not accepted: with a RST, or with silence (SYNs go on to be ignored by whom keeps it). */
  refuse(how: 'reset' | 'silent'): void;
  /** Queues a chunk, which the connection owns from now on. @returns whether more may be written now; else `writable` follows. */
  write(chunk: Uint8Array): boolean;
  /** Half-closes: a FIN follows what was written. */
  closeWrite(): void;
  /** The next chunk, owned by the caller; the window opens by it. `undefined` when there is none now. */
  read(): Uint8Array | undefined;
  /** Whether the peer's FIN has been reached and everything before it was read. */
  readonly isEnded: boolean;
  /** Ends it with a RST. */
  abort(): void;
}
