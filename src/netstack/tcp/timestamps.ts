import { TIMESTAMP_LIFETIME } from './limits.ts';
import { distance } from './sequence.ts';

/** What is sent as TSval: the clock in milliseconds, from a start of each connection's own. */
export const timestampAt = (now: number, offset: number): number =>
  (Math.floor(now) + offset) >>> 0;

/** The timestamps of one connection (RFC 7323 §3 to §5). */
export class Timestamps {
  readonly offset: number;
  /** Whether both SYNs had the option. */
  enabled = false;
  /** TS.Recent: what is echoed. */
  recent = 0;
  recentAt = -Infinity;

  constructor(offset: number) {
    this.offset = offset >>> 0;
  }

  /** TSval. */
  at(now: number): number {
    return timestampAt(now, this.offset);
  }

  /** When the segment was sent whose timestamp is echoed; -1 for one that was never sent. */
  sentAt(echo: number, now: number): number {
    const age = distance(echo, this.at(now));
    return age < 0 ? -1 : Math.floor(now) - age;
  }

  /** Whether a segment is an old duplicate (PAWS, §5.3 R1). */
  isOld(timestamp: number, now: number): boolean {
    return distance(this.recent, timestamp) < 0 && now - this.recentAt < TIMESTAMP_LIFETIME;
  }

  /** A segment that covers the last acknowledged byte, or lies before it, has this timestamp (§4.3). */
  update(timestamp: number, now: number): void {
    if (this.isOld(timestamp, now)) return;
    this.recent = timestamp;
    this.recentAt = now;
  }
}
