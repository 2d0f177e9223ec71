import { spawnSync } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { commandLine } from '@weir/base/text/command-line';
import { Child, type Exit } from '../process/child.ts';
import { program } from '../process/weir.ts';
import { eventually, within } from '../wait.ts';
import { ShownScreen } from './shown-screen.ts';

/** Prints the settings of the terminal, runs the program, and prints its status and the settings. */
const AROUND = 'stty -g; "$@"; printf "\\nstatus %d\\n" $?; stty -g';

/** Why there are no pseudo-terminals for tests; `false` if there are. */
export const noTerminal = (): string | false =>
  process.platform === 'linux' &&
  ['script', 'stty'].every((name) => spawnSync(name, ['--version']).status === 0)
    ? false
    : 'needs util-linux script and stty on Linux';

/** `weir top` on a pseudo-terminal, which `script` makes, and what the terminal shows. */
export class TopProcess implements AsyncDisposable {
  readonly screen = new ShownScreen();
  readonly #script: Child;
  #bytes = '';

  constructor(args: readonly string[], env: Readonly<Record<string, string | undefined>> = {}) {
    const command = ['sh', '-c', AROUND, 'sh', ...program(), 'top', ...args];
    this.#script = new Child('script', ['-qefc', commandLine(command), '/dev/null'], {
      env: { TERM: 'xterm-256color', NO_COLOR: undefined, RUST_LOG: undefined, ...env },
    });
    this.#script.process.stdout?.on('data', (text: string) => {
      this.#bytes += text;
      this.screen.write(text);
    });
  }

  /** Everything that was written to the terminal. */
  get bytes(): string {
    return this.#bytes;
  }

  /** The process of the program itself. */
  async pid(): Promise<number> {
    return eventually('the process', async () => {
      let pid = this.#script.pid;
      for (;;) {
        const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
        const [, child] = /^(\d+)/.exec(children) ?? [];
        if (child === undefined) break;
        pid = Number(child);
      }
      const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
      return program().every((word, at) => words[at] === word) && pid;
    });
  }

  press(keys: string): void {
    this.#script.stdin.write(keys);
  }

  /** Sends a signal to the program. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    process.kill(await this.pid(), signal);
  }

  /** Gives the terminal another size, as a window that is resized. */
  async resize(columns: number, rows: number): Promise<void> {
    this.screen.resize(columns, rows);
    const path = await readlink(`/proc/${await this.pid()}/fd/0`);
    spawnSync('stty', ['-F', path, 'cols', String(columns), 'rows', String(rows)]);
  }

  /** Waits until the screen matches. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    let text = '';
    return eventually(
      () => `${pattern} on the terminal, which shows:\n${text}`,
      async () => {
        text = await this.screen.text();
        return pattern.exec(text) ?? undefined;
      },
    );
  }

  /** From now on the terminal takes nothing, until `resume`. */
  pause(): void {
    this.#script.signal('SIGSTOP');
  }

  resume(): void {
    this.#script.signal('SIGCONT');
  }

  /** Waits for the end; the status of the program, and whether the terminal has its settings again. */
  async ended(): Promise<{ readonly status: number; readonly isRestored: boolean }> {
    const exit: Exit = await within(this.#script.exited, 'the end of weir top');
    const settings = this.#bytes.match(/^[\da-f]+(?::[\da-f]+){10,}(?=\r?$)/gm) ?? [];
    const status = /^status (\d+)\r?$/m.exec(this.#bytes)?.[1];
    if (status === undefined) throw new Error(`${JSON.stringify(exit)}: ${this.#bytes}`);
    const { isAlternate, wraps } = await this.screen.modes();
    const isRestored =
      settings.length === 2 && settings[0] === settings[1] && !isAlternate && wraps;
    return { status: Number(status), isRestored };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#script[Symbol.asyncDispose]();
  }
}
