import { fstatSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { UsageError, codeOf, messageOf } from '@weir/base';
import type { CommandIo, CommandTopic } from './command.ts';
import { runCommand } from './run/command.ts';

/** Runs a command line; resolves with the exit status when the process should end. */
export async function main(argv: readonly string[]): Promise<number> {
  const io = new ProcessIo();
  return io.finish(await carryOut(argv, io));
}

async function carryOut(argv: readonly string[], io: CommandIo): Promise<number> {
  let help = '--help';
  try {
    if (isRun(argv)) return await runCommand(argv, io, loadTopics);
    const [command, rest] = (await import('./commands.ts')).chooseCommand(argv);
    help = `${command.name} --help`;
    return await command.run(rest, io);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    io.stderr.write(`weir: ${error.message}\nTry 'weir ${help}'.\n`);
    return 2;
  }
}

/** Whether a command line is the default command, for which the tables of the others are not loaded. */
const isRun = ([first]: readonly string[]): boolean =>
  first === undefined || first.startsWith('-') || first === 'run';

const loadTopics = async (): Promise<readonly CommandTopic[]> =>
  (await import('./commands.ts')).TOPICS;

/** A stream, and the first error that its writer has to know. */
interface Watched {
  readonly stream: NodeJS.WritableStream & { readonly isTTY?: boolean };
  failure: Error | undefined;
}

/**
 * The output of the command that this process runs. A command writes without waiting: `finish` waits until the readers
 * of pipes have taken all output, and turns a failed write, as on a full disk, into a failure of the command. A reader
 * that closes its end is not a failure.
 */
class ProcessIo implements CommandIo {
  readonly env: CommandIo['env'] = process.env;
  #stdout: Watched | undefined;
  #stderr: Watched | undefined;

  get stdout(): CommandIo['stdout'] {
    this.#stdout ??= watched(process.stdout, (error) => {
      this.stderr.write(`weir: cannot write to standard output: ${messageOf(error)}\n`);
    });
    return this.#stdout.stream;
  }

  get stderr(): CommandIo['stderr'] {
    this.#stderr ??= watched(process.stderr, () => undefined);
    return this.#stderr.stream;
  }

  /** Flushes the output. @returns the exit status of the process */
  async finish(status: number): Promise<number> {
    // A failure of standard output is written to standard error.
    for (const take of [() => this.#stdout, () => this.#stderr]) {
      const output = take();
      // Writes to a terminal are synchronous. A stopped terminal is not waited for, since a signal could not end the
      // wait.
      if (output && output.stream.isTTY !== true) await flush(output.stream);
    }
    const failed = this.#stdout?.failure !== undefined || this.#stderr?.failure !== undefined;
    return failed && status === 0 ? 1 : status;
  }
}

/** @param onFailure called with the first error */
function watched(
  own: NodeJS.WriteStream & { readonly fd: number },
  onFailure: (error: Error) => void,
): Watched {
  const { fd } = own;
  const output: Watched = {
    stream: isStreamOfFile(fd) ? new FileOutput(fd) : own,
    failure: undefined,
  };
  output.stream.on('error', (error: Error) => {
    if (codeOf(error) === 'EPIPE' || output.failure !== undefined) return;
    output.failure = error;
    onFailure(error);
  });
  return output;
}

/** Waits until a stream is flushed: callbacks are in order, also after an error. */
const flush = (stream: NodeJS.WritableStream): Promise<void> =>
  new Promise((resolve) => void stream.write('', () => resolve()));

/** Whether writes to a descriptor are those to a file: regular files and devices, but not terminals. */
function isStreamOfFile(fd: number): boolean {
  const kind = fstatSync(fd);
  return kind.isFile() || kind.isBlockDevice() || (kind.isCharacterDevice() && !isatty(fd));
}

/**
 * A stream to a file that writes synchronously, so that writes to several streams of the same file keep their order.
 * Node's own stream for files treats a partial write, on a full disk, as complete (Node 26.12).
 */
class FileOutput extends Writable {
  readonly #fd: number;

  constructor(fd: number) {
    super();
    this.#fd = fd;
  }

  override _write(bytes: Uint8Array, _: BufferEncoding, done: () => void): void {
    try {
      for (let start = 0; start < bytes.length;) start += writeSync(this.#fd, bytes, start);
    } catch (error) {
      // Not as an error of the write, which would prevent all later writes.
      process.nextTick(() => this.emit('error', error));
    }
    done();
  }
}
