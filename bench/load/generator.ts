import { fileURLToPath } from 'node:url';
import { Child } from '../../test/support/process/child.ts';
import { within } from '../../test/support/wait.ts';
import type { Figures, Job, Report } from './messages.ts';

const GENERATOR = fileURLToPath(new URL('./main.ts', import.meta.url));

/** Limit of one measurement; one that hangs counts as failed. */
const LIMIT_MS = 90_000;

/** The child process that makes the load. */
export class Generator implements AsyncDisposable {
  readonly #child: Child;
  readonly #ready = Promise.withResolvers<number>();
  #onReport: (report: Report) => void = () => undefined;
  #onDiscarded: (bytes: number) => void = () => undefined;

  /** @param prefix what runs it in another network. */
  constructor(args: readonly string[] = [], prefix: readonly string[] = []) {
    this.#child = new Child(process.execPath, [GENERATOR, ...args], { ipc: true, prefix });
    this.#child.process.on('message', (report: Report) => {
      if (report.kind === 'ready') this.#ready.resolve(report.port);
      else if (report.kind === 'discarded') this.#onDiscarded(report.bytes);
      else this.#onReport(report);
    });
  }

  ready(): Promise<number> {
    return within(this.#ready.promise, () => `the load generator\n${this.#child.stderr}`);
  }

  run(job: Job, onBegin: () => void): Promise<Figures> {
    const { promise, resolve, reject } = Promise.withResolvers<Figures>();
    this.#onReport = (report) => {
      if (report.kind === 'begin') onBegin();
      else if (report.kind === 'end') resolve(report.figures);
      else if (report.kind === 'failed') reject(new Error(report.message));
    };
    void this.#child.exited.then(() => reject(new Error(`the load ended:\n${this.#child.stderr}`)));
    this.#child.process.send(job);
    return within(promise, () => `${job.load}\n${this.#child.stderr}`, LIMIT_MS);
  }

  /** Bytes that its origin has discarded so far. One question at a time. */
  discarded(): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#onDiscarded = resolve;
    this.#child.process.send('discarded');
    return within(promise, () => `what the origin has discarded\n${this.#child.stderr}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#child[Symbol.asyncDispose]();
  }
}
