import { messageOf } from '@weir/base';
import { UsageDatabase } from '../usage/usage-query.ts';
import type { Quota } from './quota.ts';

interface RecordedUsageOptions {
  /** Path of the database of `weir usage record`. */
  readonly database: string;
  /** Called once with the reason while the database cannot be read. */
  readonly note: (text: string) => void;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** What users without limits have used in this month, in UTC. */
export class RecordedUsage implements Disposable {
  readonly #options: RecordedUsageOptions;
  #database: UsageDatabase | undefined;
  #problem: string | undefined;

  constructor(options: RecordedUsageOptions) {
    this.#options = options;
  }

  /** Returns what a user has used; `undefined` where that is not known. */
  read(user: string): Quota | undefined {
    const { database, note, now } = this.#options;
    const since = now();
    try {
      this.#database ??= new UsageDatabase(database);
      const asked = { by: 'user', since, until: since + 1 } as const;
      const [month] = this.#database.series(asked, 'months', user);
      this.#problem = undefined;
      return { upload: month?.up ?? 0, download: month?.down ?? 0 };
    } catch (error) {
      const text = messageOf(error);
      if (text !== this.#problem) note(text);
      this.#problem = text;
      this[Symbol.dispose]();
      return undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#database?.[Symbol.dispose]();
    this.#database = undefined;
  }
}
