import { sourceGroup } from '@weir/io/bounds';

/** Milliseconds after its last flow for which a source counts. */
const PRESENT_MS = 60_000;

interface Device {
  flows: number;
  /** When its last flow was requested or has ended, in milliseconds of the monotonic clock. */
  seenAt: number;
}

/**
 * The sources of an account that have a flow, or had one in the last minute: an IPv4 address or an IPv6 network of 64
 * bits is one. There are never more than have been admitted.
 */
export class Devices {
  readonly #present = new Map<string, Device>();

  /** Returns the number of sources that are present. */
  count(now: number): number {
    for (const [source, { flows, seenAt }] of this.#present) {
      if (flows === 0 && now - seenAt >= PRESENT_MS) this.#present.delete(source);
    }
    return this.#present.size;
  }

  /** Whether a source is present, or becomes present as one of at most `most`. */
  admit(source: string | undefined, most: number, now: number): boolean {
    const key = sourceGroup(source);
    const present = this.#present.get(key);
    if (present && (present.flows > 0 || now - present.seenAt < PRESENT_MS)) {
      present.seenAt = now;
      return true;
    }
    if (this.count(now) >= most) return false;
    this.#present.set(key, { flows: 0, seenAt: now });
    return true;
  }

  /** Counts a flow of a source, which is present from now on. */
  opened(source: string | undefined, now: number): void {
    const key = sourceGroup(source);
    const device = this.#present.get(key);
    if (device) device.flows++;
    else this.#present.set(key, { flows: 1, seenAt: now });
  }

  closed(source: string | undefined, now: number): void {
    const device = this.#present.get(sourceGroup(source));
    if (!device) return;
    device.flows--;
    device.seenAt = now;
  }
}
