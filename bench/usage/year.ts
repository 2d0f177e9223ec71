/**
 * The size of a database of a year of usage, and the time of queries: 1,000 accounts with a source each, of which a share is
 * active in every hour, and hosts by Zipf's law. Writes FILE, which must not exist.
 *
 * `node bench/usage/year.ts FILE [SHARE]`; SHARE (0.4) of accounts in an hour, 1 for the largest database.
 */
import { existsSync, statSync } from 'node:fs';
import { USAGE_DIMENSIONS, type UsageDimension, type UsageEntry } from '@weir/proxy/tracker';
import type { RunningUsage } from '@weir/server/control';
import { UsageDatabase, UsageWriter } from '@weir/watch/usage';
import { hourOf } from '../../packages/watch/src/usage/periods.ts';

const [path, share = '0.4'] = process.argv.slice(2);
if (path === undefined || existsSync(path)) throw new Error('the name of a new file is needed');

const USERS = 1000;
const HOSTS_AN_HOUR = 2000;
/** Hosts that there are; many have few visits. */
const HOSTS = 200_000;
const HOURS = 365 * 24;
const FIRST = hourOf(Date.UTC(2026, 0, 1));

const below = (limit: number): number => Math.floor(Math.random() * limit);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Counts that only grow, as those of a process, by dimension and name. */
class Counts {
  readonly #entries = new Map<string, UsageEntry>();
  #changed = new Set<string>();

  add(by: UsageDimension, name: string, up: number, down: number): void {
    const key = `${by} ${name}`;
    const entry: UsageEntry = this.#entries.get(key) ?? {
      id: this.#entries.size + 1,
      name,
      up: 0,
      down: 0,
      flows: 0,
    };
    this.#entries.set(key, {
      ...entry,
      up: entry.up + up,
      down: entry.down + down,
      flows: entry.flows + 9,
    });
    this.#changed.add(key);
  }

  report(instance: string, sequence: number): RunningUsage {
    const changed = this.#changed;
    this.#changed = new Set();
    const nothing = { up: 0, down: 0, flows: 0 };
    const dimensions = USAGE_DIMENSIONS.map((by) => {
      const entries: UsageEntry[] = [];
      for (const key of changed) {
        const entry = this.#entries.get(key);
        if (entry && key.startsWith(`${by} `)) entries.push(entry);
      }
      return { by, other: nothing, entries };
    });
    return {
      instance,
      sequence,
      isComplete: false,
      total: nothing,
      removed: [],
      dimensions,
    };
  }
}

{
  using writer = new UsageWriter(path);
  let counts = new Counts();
  for (let hour = 0; hour < HOURS; hour++) {
    // As if Weir had started again, which has space for some thousand hosts.
    if (hour % 24 === 0) counts = new Counts();
    for (let user = 0; user < USERS; user++) {
      if (Math.random() >= Number(share)) continue;
      const [up, down] = [below(50_000_000), below(2_000_000_000)];
      counts.add('user', `user${user}@example.com`, up, down);
      counts.add('source', `198.51.${user >> 8}.${(user + (hour / 24) * 7) & 255}`, up, down);
      counts.add('inbound', `inbound ${user % 4}`, up, down);
      counts.add('outbound', `outbound ${user % 8}`, up, down);
    }
    for (let host = 0; host < HOSTS_AN_HOUR; host++) {
      const rank = Math.floor(HOSTS ** Math.random());
      counts.add(
        'host',
        `www.site-${rank}.example.com`,
        below(10_000),
        below(400_000_000 / rank + 1000),
      );
    }
    writer.record(
      counts.report(`day ${Math.floor(hour / 24)}`, hour + 1),
      writer.position,
      FIRST + hour,
    );
    if (hour % 1000 === 999) say(`${hour + 1} hours, ${size()} MB`);
  }
}

function size(): string {
  return (statSync(path ?? '').size / 1e6).toFixed(1);
}

say(`${size()} MB`);
using database = new UsageDatabase(path);
const DAY = 86_400_000;
const end = (FIRST + HOURS) * 3_600_000;
for (const by of USAGE_DIMENSIONS) {
  for (const [what, since] of [
    ['a day', end - DAY],
    ['30 days', end - 30 * DAY],
    // The most parts: hours, days and months.
    ['nearly a year', end - 364 * DAY + 4 * 3_600_000],
  ] as const) {
    const times = Array.from({ length: 5 }, () => {
      const began = performance.now();
      database.sums({ by, since, until: end - 5 * 3_600_000 });
      return performance.now() - began;
    }).sort((a, b) => a - b);
    say(`${by}, ${what}: ${times[2]?.toFixed(1)} ms, most ${times[4]?.toFixed(1)} ms`);
  }
}
const began = performance.now();
const series = database.series({ by: 'user', since: FIRST * 3_600_000, until: end }, 'days');
say(`series of ${series.length} days: ${(performance.now() - began).toFixed(1)} ms`);
