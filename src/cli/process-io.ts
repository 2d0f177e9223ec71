import { fstatSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { codeOf, messageOf } from '../errors.ts';
import type { CommandIo } from './command.ts';

/** A stream, and the first error of it that its writer has to know. */
interface Watched {
  readonly stream: NodeJS.WritableStream & { readonly isTTY?: boolean };
  failure: Error | undefined;
}

/**
 * The output of the command that this process runs. A command writes and goes on: `finish` waits until the readers of pipes have
 * taken everything, and makes a failed write, as on a full disk, a failure of the command. A reader that has closed its
 * end is none.
 */
export class ProcessIo implements CommandIo {
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

  /** @returns the status that the process should end with */
  async finish(status: number): Promise<number> {
    // A failure of the first is written to the second.
    for (const take of [() => this.#stdout, () => this.#stderr]) {
      const output = take();
      // A terminal takes everything at once; one that is stopped is not waited for, which a signal could not end.
      if (output && output.stream.isTTY !== true) await flush(output.stream);
    }
    const failed = this.#stdout?.failure !== undefined || this.#stderr?.failure !== undefined;
    return failed && status === 0 ? 1 : status;
  }
}

/** @param onFailure gets the first error */
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

/** Streams call back in order, also after an error. */
const flush = (stream: NodeJS.WritableStream): Promise<void> =>
  new Promise((resolve) => void stream.write('', () => resolve()));

/** Whether writes to it are those to a file: regular ones and devices, but not terminals. */
function isStreamOfFile(fd: number): boolean {
  const kind = fstatSync(fd);
  return kind.isFile() || kind.isBlockDevice() || (kind.isCharacterDevice() && !isatty(fd));
}

/**
 * Writes to a file, each piece before the call returns, in the order in which a process writes to several streams of one file. Node's
 * stream for files takes a write that the disk had room for only in part for a whole one (Node 26.12).
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
      // Not as an error of the stream, which would keep all that is written later.
      process.nextTick(() => this.emit('error', error));
    }
    done();
  }
}
