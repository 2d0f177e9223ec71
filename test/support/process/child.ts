import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { within } from '../wait.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  /** Variables on top of this process's own; `undefined` takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly ipc?: boolean;
  /** Descriptors of this process that it has as 3 and the following; not beside `ipc`. */
  readonly descriptors?: readonly number[];
  /** What runs it in its place, by `exec`: such as `nsenter` with its arguments. */
  readonly prefix?: readonly string[];
}

/** What is kept of each output, so that a chatty child cannot fill this process's memory. */
const OUTPUT_LIMIT = 4 << 20;

/** Every child still alive: none may outlive the test process, however that one ends. */
const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** A program under test or beside one, with its output as text; disposing of it kills it. */
export class Child implements AsyncDisposable {
  readonly name: string;
  readonly process: ChildProcess;
  /** Resolves when the process has ended and its output is complete. */
  readonly exited: Promise<Exit>;
  #stdout = '';
  #stderr = '';
  #ended: Exit | undefined;
  readonly #watchers = new Set<() => void>();

  constructor(command: string, args: readonly string[], options: ChildOptions = {}) {
    this.name = [command, ...args].join(' ');
    const [program = command, ...words] = [...(options.prefix ?? []), command, ...args];
    this.process = spawn(program, words, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: [
        'pipe',
        'pipe',
        'pipe',
        ...(options.ipc === true ? (['ipc'] as const) : []),
        ...(options.descriptors ?? []),
      ],
    });
    alive.add(this.process);
    const { promise, resolve } = Promise.withResolvers<Exit>();
    this.exited = promise;
    const end = (exit: Exit): void => {
      alive.delete(this.process);
      this.#ended = exit;
      this.#changed();
      resolve(exit);
    };
    this.process.once('error', (error) => {
      this.#stderr += `${error.message}\n`;
      if (this.process.pid === undefined) end({ code: null, signal: null });
    });
    this.process.once('close', (code, signal) => end({ code, signal }));
    this.#collect(this.process.stdout, (text) => {
      this.#stdout = (this.#stdout + text).slice(-OUTPUT_LIMIT);
    });
    this.#collect(this.process.stderr, (text) => {
      this.#stderr = (this.#stderr + text).slice(-OUTPUT_LIMIT);
    });
    // A child that went away while it was written to is seen by its exit, not by this.
    this.process.stdin?.on('error', () => undefined);
  }

  get pid(): number {
    const { pid } = this.process;
    if (pid === undefined) throw new Error(`${this.name} did not start: ${this.#stderr}`);
    return pid;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  get stdin(): Writable {
    const { stdin } = this.process;
    if (!stdin) throw new Error('no standard input');
    return stdin;
  }

  /** Set once the process has ended. */
  get ended(): Exit | undefined {
    return this.#ended;
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  /** Waits until `check` is satisfied by the output; fails when the process ends before. */
  async until<T>(what: string, check: (child: this) => T | undefined): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const watch = (): void => {
      const result = check(this);
      if (result !== undefined) resolve(result);
      else if (this.#ended) {
        const { code, signal } = this.#ended;
        reject(
          new Error(`${this.name} ended (${code ?? signal}) before ${what}:\n${this.#stderr}`),
        );
      }
    };
    this.#watchers.add(watch);
    try {
      watch();
      return await within(promise, () => `${what} of ${this.name}:\n${this.#stderr.slice(-2000)}`);
    } finally {
      this.#watchers.delete(watch);
    }
  }

  /** Asks it to end, so that it can end what it started itself, and kills it if it does not. */
  async terminate(): Promise<void> {
    this.process.kill('SIGTERM');
    const GRACE_MS = 2000;
    const timer = setTimeout(() => this.#kill(), GRACE_MS);
    await this.exited;
    clearTimeout(timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#ended) this.#kill();
    await this.exited;
  }

  /** Closes its outputs too: processes of its own may outlive it and hold them open. */
  #kill(): void {
    this.process.kill('SIGKILL');
    this.process.stdout?.destroy();
    this.process.stderr?.destroy();
  }

  #collect(stream: Readable | null, add: (text: string) => void): void {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      add(text);
      this.#changed();
    });
  }

  #changed(): void {
    for (const watch of this.#watchers) watch();
  }
}
