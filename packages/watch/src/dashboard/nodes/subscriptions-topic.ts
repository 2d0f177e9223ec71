import { Listeners } from '@weir/base/collections';
import { messageOf } from '@weir/base';
import { systemClock, type Clock, type Timer } from '@weir/io/time';
import { printable } from '@weir/base/printable';
import type { ListedSource } from '@weir/nodes/subscribe';
import type { PageTopic } from '../contract.ts';
import type { FileModel } from '../reader/file-model.ts';
import type { SubscriptionRow, SubscriptionsView } from './view.ts';

/** Milliseconds between two reads while a page is open: a system timer may update the subscriptions too. */
const READ_MS = 30_000;

/** The topic `subscriptions`. */
export class SubscriptionsTopic implements PageTopic {
  readonly name = 'subscriptions';
  readonly #file: FileModel;
  readonly #clock: Clock;
  readonly #listeners = new Listeners();
  #rows: readonly SubscriptionRow[] = [];
  #error: string | undefined;
  #busy: SubscriptionsView['busy'] = null;
  #version: string | undefined;
  #timer: Timer | undefined;
  #holds = 0;

  constructor(file: FileModel, clock: Clock = systemClock) {
    this.#file = file;
    this.#clock = clock;
  }

  view(): SubscriptionsView {
    return { rows: this.#rows, error: this.#error ?? null, busy: this.#busy };
  }

  /** @param what the operation in progress; `null` for none */
  set busy(what: SubscriptionsView['busy']) {
    this.#busy = what;
    this.#changed();
  }

  hold(): Disposable {
    const held = new DisposableStack();
    held.use(this.#file.hold());
    const onFile = (): void => {
      if (this.#file.facts?.version !== this.#version) void this.read();
    };
    held.use(this.#file.onChange(onFile));
    this.#holds++;
    held.defer(() => {
      if (--this.#holds === 0) this.#timer?.cancel();
    });
    void this.read();
    return held;
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  /** Reads the sources and their stored state. */
  async read(): Promise<void> {
    const { path, facts } = this.#file;
    this.#version = facts?.version;
    if (typeof path === 'string' && facts?.hasSubscriptions === true) {
      try {
        this.#rows = (await this.#file.worker.ask('sources', { path })).map(rowOf);
        this.#error = undefined;
      } catch (error) {
        this.#error = printable(messageOf(error));
      }
    } else {
      this.#rows = [];
      this.#error = undefined;
    }
    this.#changed();
    this.#timer?.cancel();
    if (this.#holds > 0) this.#timer = this.#clock.after(READ_MS, () => void this.read());
  }

  #changed(): void {
    this.#listeners.call();
  }
}

function rowOf(source: ListedSource): SubscriptionRow {
  const { name, host, outbound, nodes, kept, updated, due, userinfo, failure } = source;
  const { upload, download, total, expire } = userinfo ?? {};
  const hasUsed = upload !== undefined || download !== undefined;
  return {
    id: name,
    host,
    outbound: outbound ?? null,
    nodes,
    kept,
    updated: updated ?? null,
    due,
    used: hasUsed ? (upload ?? 0) + (download ?? 0) : null,
    total: total ?? null,
    expires: expire === undefined ? null : expire * 1000,
    failure: failure ? { at: failure.at, message: printable(failure.message) } : null,
  };
}
