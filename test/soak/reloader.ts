import { eventually } from '../support/wait.ts';
import type { Changing } from './configurations.ts';
import type { RunningWeir } from './running-weir.ts';

/** A machine with other work may take long for a reload; none may take longer than this. */
const PATIENCE_MS = 60_000;

/** Reloads one process by each of the ways in its turn. */
export class Reloader {
  readonly #weir: RunningWeir;
  readonly #config: Changing;
  #turn = 0;

  constructor(weir: RunningWeir, config: Changing) {
    this.#weir = weir;
    this.#config = config;
  }

  /** A change, by SIGHUP, by `POST /v1/reload`, or by a pick. */
  async next(): Promise<void> {
    const way = this.#turn++ % 3;
    if (way === 2) {
      await this.#pick();
      return;
    }
    const shown = this.#config.pick;
    this.#config.change();
    const before = this.#weir.reloads;
    await this.#weir.write(String(this.#config));
    if (way === 0) {
      // Not every change shows in a file: then the process reports that nothing has changed.
      await this.#post();
      return;
    }
    // Something must differ from what runs, or the log does not say when it has been applied.
    this.#config.pick = shown === 'direct' ? 'spare' : 'direct';
    await this.#weir.write(String(this.#config));
    this.#weir.signal('SIGHUP');
    await eventually(
      `the reload of the ${this.#weir.name} by SIGHUP`,
      () => this.#weir.reloads > before,
      PATIENCE_MS,
    );
  }

  /** Restores the first configuration. */
  async reset(): Promise<void> {
    this.#config.reset();
    await this.#weir.write(String(this.#config));
    await this.#post();
  }

  async #post(): Promise<void> {
    await this.#weir.api.json('POST', '/v1/reload');
  }

  async #pick(): Promise<void> {
    const target = this.#config.pick === 'direct' ? 'spare' : 'direct';
    const { status, text } = await this.#weir.api.pick('default', target);
    if (status !== 200) throw new Error(`a pick of the ${this.#weir.name}: ${status} ${text}`);
    this.#config.pick = target;
  }
}
