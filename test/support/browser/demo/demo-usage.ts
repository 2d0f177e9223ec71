import type { UsageEntry } from '@weir/proxy/tracker';
import { UsageWriter } from '@weir/watch/usage';

const HOUR_MS = 3_600_000;
const DAYS = 30;

/** Accounts, and the bytes that they receive in an hour of work. */
const USERS = [
  ['ann', 310e6],
  ['bob', 120e6],
  ['carla', 45e6],
  ['', 2e6],
] as const;

/** Writes a database of a month of usage, the same each time: offices are quiet at night and on Sundays. */
export function writeDemoUsage(path: string, now: number): void {
  using writer = new UsageWriter(path);
  const nothing = { up: 0, down: 0, flows: 0 };
  const sums = USERS.map(() => ({ ...nothing }));
  const last = Math.floor(now / HOUR_MS);
  for (let hour = last - DAYS * 24; hour <= last; hour += 6) {
    const date = new Date(hour * HOUR_MS);
    const work = date.getUTCDay() === 0 ? 0.1 : 1 + Math.sin(date.getUTCDate()) / 2;
    const entries = USERS.map(([name, bytes], index): UsageEntry => {
      const sum = sums[index] ?? { ...nothing };
      sum.down += Math.round(bytes * work);
      sum.up += Math.round((bytes * work) / 9);
      sum.flows += Math.round(40 * work);
      return { id: index + 1, name, ...sum };
    });
    const { position } = writer;
    const report = {
      instance: 'demo',
      sequence: position.sequence + 1,
      isComplete: false,
      total: nothing,
      removed: [],
      dimensions: [{ by: 'user' as const, other: nothing, entries }],
    };
    writer.record(report, position, hour);
  }
}
