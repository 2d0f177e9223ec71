import type { EcnCounts } from '../wire/frame-writers.ts';
import type { AckRanges } from './ack-ranges.ts';
import type { Space } from './space.ts';

/** When received packets of one space are to be acknowledged (RFC 9000 §13.2.1, §13.2.2). */
export declare class AckSchedule {
  /** @param maxAckDelay in milliseconds: what this side announces. */
  constructor(space: Space, maxAckDelay: number);
  readonly ranges: AckRanges;
  /** `undefined` when no mark was ever received. */
  readonly ecn: EcnCounts | undefined;
  /** A packet was processed. @param ecn the two ECN bits of its datagram. */
  onReceived(number: number, ackEliciting: boolean, ecn: number, now: number): void;
  /** When an ACK is due: in the past for at once, Infinity for none. */
  readonly deadline: number;
  /** Whether an ACK frame is worth its bytes in a packet that leaves anyway. */
  readonly isPending: boolean;
  /** What goes into the ACK Delay field. */
  delayField(exponent: number, now: number): number;
  /** An ACK frame with the newest range was written. */
  onAckSent(): void;
}
