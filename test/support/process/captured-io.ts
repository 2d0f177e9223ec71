import { Writable } from 'node:stream';
import type { CommandIo } from '../../../packages/weir/src/cli/command.ts';

/** What a command writes, when it runs in the process of a test. */
export class CapturedIo implements CommandIo {
  readonly env: CommandIo['env'];
  readonly stdout: CommandIo['stdout'];
  readonly stderr: Writable;
  readonly #out: Buffer[] = [];
  readonly #err: Buffer[] = [];

  /** @param isTTY whether standard output counts as a terminal */
  constructor(env: CommandIo['env'] = {}, isTTY = false) {
    this.env = env;
    this.stdout = Object.assign(into(this.#out), { isTTY });
    this.stderr = into(this.#err);
  }

  get out(): string {
    return Buffer.concat(this.#out).toString();
  }

  get err(): string {
    return Buffer.concat(this.#err).toString();
  }
}

const into = (chunks: Buffer[]): Writable =>
  new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(chunk);
      done();
    },
  });
