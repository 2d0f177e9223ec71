import { chooseSocket } from '@weir/client';
import { requestLimits } from '@weir/server/control';
import { WeirError } from '@weir/base';
import type { Quota } from './quota.ts';

/** Milliseconds between two searches for a running Weir, each of which asks all that it finds. */
const SEARCH_MS = 10_000;

export interface QuotaSearch {
  /** Path of the configuration file that the running Weir serves. */
  readonly config: string;
  /** The value of `--socket`. */
  readonly socket: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds of a clock that does not jump. */
  readonly now: () => number;
}

/** The quotas of users that a running Weir has limits for. Without one nothing is known. */
export class RunningQuotas {
  readonly #search: QuotaSearch;
  #socket: string | undefined;
  #searched = -Infinity;
  #searching: Promise<void> | undefined;

  constructor(search: QuotaSearch) {
    this.#search = search;
  }

  /** Returns the quota of a user; `undefined` where no Weir runs, or the user has no limits. */
  async read(user: string): Promise<Quota | undefined> {
    if (this.#socket === undefined) await this.#findAgain();
    if (this.#socket === undefined) return undefined;
    try {
      const { accounts } = await requestLimits(this.#socket, { user });
      const account = accounts.find((each) => each.user === user);
      if (!account) return undefined;
      return {
        upload: account.up,
        download: account.down,
        total: account.bytes ?? undefined,
        expire: account.until === null ? undefined : Math.floor(account.until / 1000),
      };
    } catch (error) {
      if (!(error instanceof WeirError)) throw error;
      // It has ended, or is starting again at another place.
      this.#socket = undefined;
      return undefined;
    }
  }

  async #findAgain(): Promise<void> {
    const { now } = this.#search;
    if (now() - this.#searched < SEARCH_MS) return this.#searching;
    this.#searched = now();
    this.#searching = this.#find().finally(() => (this.#searching = undefined));
    return this.#searching;
  }

  async #find(): Promise<void> {
    const { config, socket, env } = this.#search;
    try {
      this.#socket = await chooseSocket({ socket, env }, config);
    } catch (error) {
      if (!(error instanceof WeirError)) throw error;
    }
  }
}
