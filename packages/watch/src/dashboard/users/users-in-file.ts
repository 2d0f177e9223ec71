import { Holds, Listeners } from '@weir/base/collections';
import { listAccounts } from '@weir/nodes/accounts';
import type { WrittenUser } from '@weir/config/edit';
import { messageOf } from '@weir/base';
import type { Clock, Timer } from '@weir/io/time';

/** The users of the configuration file as last read. */
export type UsersRead =
  /** The file was not read yet, or there is none. */
  | { readonly kind: 'unread' }
  | { readonly kind: 'read'; readonly users: readonly WrittenUser[] }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** Minimum milliseconds between two reads: a large file takes a while. */
const READ_MS = 10_000;

/** The users in the configuration file, read again while a page watches. */
export class UsersInFile {
  readonly #path: () => string | undefined;
  readonly #clock: Clock;
  readonly #list: typeof listAccounts;
  readonly #listeners = new Listeners();
  readonly #holds = new Holds(
    () => void this.refresh(),
    () => this.#timer?.cancel(),
  );
  #read: UsersRead = { kind: 'unread' };
  #timer: Timer | undefined;
  #reading: Promise<void> | undefined;

  /**
   * @param path of the running Weir's file; `undefined` where it is not known
   * @param list `listAccounts`; replaced in tests
   */
  constructor(path: () => string | undefined, clock: Clock, list = listAccounts) {
    this.#path = path;
    this.#clock = clock;
    this.#list = list;
  }

  get read(): UsersRead {
    return this.#read;
  }

  hold(): Disposable {
    return this.#holds.hold();
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  /** Reads the file now. Never rejects. */
  async refresh(): Promise<void> {
    await (this.#reading ??= this.#readOnce().finally(() => (this.#reading = undefined)));
  }

  async #readOnce(): Promise<void> {
    this.#timer?.cancel();
    const path = this.#path();
    this.#read =
      path === undefined
        ? { kind: 'unread' }
        : await this.#list(path).then(
            (users): UsersRead => ({ kind: 'read', users }),
            (error: unknown): UsersRead => ({ kind: 'unreadable', reason: messageOf(error) }),
          );
    if (this.#holds.isHeld) this.#timer = this.#clock.after(READ_MS, () => void this.refresh());
    this.#listeners.call();
  }
}
