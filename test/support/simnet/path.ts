import type { Endpoint } from '@weir/io/addresses';
import { IDLE, send, wait, type Datagram, type Node, type Output } from './node.ts';
import type { SeededRandom } from './seeded-random.ts';

/** What happens to one datagram that is let through, changed, repeated or dropped at once. */
type Effect = (datagram: Datagram, now: number) => readonly Datagram[];

/** A node without delay. */
function immediate(name: string, effect: Effect): Node {
  const ready: Datagram[] = [];
  return {
    name,
    process(datagram, now): Output {
      if (datagram) ready.push(...effect(datagram, now));
      const next = ready.shift();
      return next ? send(next) : IDLE;
    },
  };
}

/** Loses each datagram with this probability. */
export const loss = (random: SeededRandom, probability: number): Node =>
  immediate('loss', (datagram) => (random.chance(probability) ? [] : [datagram]));

/** Loses what `lost` names by its number, counted from 0: for tests of single losses. */
export function drop(lost: (number: number) => boolean): Node {
  let count = 0;
  return immediate('drop', (datagram) => (lost(count++) ? [] : [datagram]));
}

/** Delivers each datagram twice with this probability. */
export const duplication = (random: SeededRandom, probability: number): Node =>
  immediate('duplication', (datagram) =>
    random.chance(probability) ? [datagram, datagram] : [datagram],
  );

/** Flips one bit of each datagram with this probability. */
export const corruption = (random: SeededRandom, probability: number): Node =>
  immediate('corruption', (datagram) => {
    if (datagram.data.length === 0 || !random.chance(probability)) return [datagram];
    const data = Uint8Array.from(datagram.data);
    const at = random.below(data.length);
    data[at] = (data[at] ?? 0) ^ (1 << random.below(8));
    return [{ ...datagram, data }];
  });

/** Loses what is longer than so many bytes, without a word, as a path without ICMP does. */
export const mtu = (bytes: number): Node =>
  immediate('mtu', (datagram) => (datagram.data.length > bytes ? [] : [datagram]));

/** Loses everything between two times, in milliseconds. */
export const blackHole = (from: number, until: number): Node =>
  immediate('black hole', (datagram, now) => (now >= from && now < until ? [] : [datagram]));

/** From a time on, datagrams of a client come from another address, as behind a NAT that rebinds. */
export const addressChange = (at: number, address: Endpoint): Node =>
  immediate('address change', (datagram, now) =>
    now < at ? [datagram] : [{ ...datagram, from: address }],
  );

/**
 * Delivers datagrams after `milliseconds`, give or take an equally distributed `jitter`, by which
 * they overtake each other.
 */
export function delay(milliseconds: number, jitter = 0, random?: SeededRandom): Node {
  const flying: { readonly at: number; readonly datagram: Datagram }[] = [];
  return {
    name: 'delay',
    process(datagram, now): Output {
      if (datagram) {
        const late = random && jitter > 0 ? (random.fraction() * 2 - 1) * jitter : 0;
        const at = now + Math.max(0, milliseconds + late);
        const before = flying.findIndex((other) => other.at > at);
        flying.splice(before < 0 ? flying.length : before, 0, { at, datagram });
      }
      const [next] = flying;
      if (!next) return IDLE;
      if (next.at > now) return wait(next.at);
      flying.shift();
      return send(next.datagram);
    },
  };
}

/** How a bottleneck was used. */
export interface Bottleneck extends Node {
  readonly dropped: number;
  /** The most bytes that ever waited. */
  readonly peak: number;
}

/**
 * Passes `bytesPerSecond` and holds `queue` bytes; what finds the queue full is dropped.
 */
export function bottleneck(bytesPerSecond: number, queue: number): Bottleneck {
  const waiting: Datagram[] = [];
  let held = 0;
  let freeAt = 0;
  const seen = { dropped: 0, peak: 0 };
  return {
    name: 'bottleneck',
    get dropped() {
      return seen.dropped;
    },
    get peak() {
      return seen.peak;
    },
    process(datagram, now): Output {
      if (datagram) {
        if (held + datagram.data.length > queue) seen.dropped++;
        else {
          if (waiting.length === 0) freeAt = Math.max(freeAt, now);
          waiting.push(datagram);
          held += datagram.data.length;
          seen.peak = Math.max(seen.peak, held);
        }
      }
      const [next] = waiting;
      if (!next) return IDLE;
      const leavesAt = freeAt + (next.data.length / bytesPerSecond) * 1000;
      if (leavesAt > now) return wait(leavesAt);
      waiting.shift();
      held -= next.data.length;
      freeAt = leavesAt;
      return send(next);
    },
  };
}
