import { once } from 'node:events';
import { printable, printableJson } from '../../printable.ts';
import { ApiClientError } from '../../client/api-client.ts';

/** Writes results: as a table, or as one line of JSON each. */
export class CtlOutput {
  readonly #stream: NodeJS.WritableStream;
  readonly #json: boolean;
  #closed = false;

  constructor(stream: NodeJS.WritableStream, json: boolean) {
    this.#stream = stream;
    this.#json = json;
    stream.once('error', () => {
      this.#closed = true;
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Writes all values as one table, or each as a line of JSON. */
  async write(things: readonly unknown[], table: () => string): Promise<void> {
    const text = this.#json ? things.map((thing) => `${printableJson(thing)}\n`).join('') : table();
    await this.#put(text);
  }

  async #put(text: string): Promise<void> {
    if (this.#closed) throw new ApiClientError('the output has been closed');
    if (!this.#stream.write(text)) await once(this.#stream, 'drain');
  }

  /**
   * Writes texts unescaped, one per line; omits empty texts and those with unprintable characters.
   */
  async lines(texts: readonly string[]): Promise<void> {
    const whole = [...new Set(texts)].filter((text) => text !== '' && printable(text) === text);
    await this.#put(whole.map((text) => `${text}\n`).join(''));
  }

  /** Writes text only in table format. */
  async head(text: string): Promise<void> {
    if (!this.#json) await this.write([], () => text);
  }
}
