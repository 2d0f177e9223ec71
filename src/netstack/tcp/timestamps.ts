import { TIMESTAMP_LIFETIME } from './limits.ts';
import { distance } from './sequence.ts';

/** TSval: the clock in milliseconds plus the connection's random offset (RFC 7323 §5.4). */
export const timestampAt = (now: number, offset: number): number =>
  (Math.floor(now) + offset) >>> 0;

/** The timestamps of one connection (RFC 7323 §3 to §5). */
export class Timestamps {
  readonly offset: number;
  /** Snd.TS.OK: whether both SYNs had the option. */
  enabled = false;
  /** TS.Recent, the value that is echoed. */
  recent = 0;
  recentAt = -Infinity;

  constructor(offset: number) {
    this.offset = offset >>> 0;
  }

  /** Returns the TSval of a segment sent now. */
  at(now: number): number {
    return timestampAt(now, this.offset);
  }

  /** Returns the time at which the segment with this TSval was sent; -1 for a value that was never sent. */
  sentAt(echo: number, now: number): number {
    const age = distance(echo, this.at(now));
    return age < 0 ? -1 : Math.floor(now) - age;
  }

  /** PAWS (§5.3 R1): whether a segment is an old duplicate. */
  isOld(timestamp: number, now: number): boolean {
    return distance(this.recent, timestamp) < 0 && now - this.recentAt < TIMESTAMP_LIFETIME;
  }

  /** Sets TS.Recent from a segment with SEG.SEQ <= Last.ACK.sent (§4.3). */
  update(timestamp: number, now: number): void {
    if (this.isOld(timestamp, now)) return;
    this.recent = timestamp;
    this.recentAt = now;
  }
}
