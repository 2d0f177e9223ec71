import { statSync, type Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { ConfigError } from '@weir/config';
import { codeOf, messageOf } from '@weir/base';
import { systemClock, type Clock, CONFIG_STREAM_MS } from '@weir/io/time';
import { kindOfOther, READ_WITHOUT_WAITING } from '@weir/io/files';

/** Milliseconds between polls of a stream that has no data yet. */
const RETRY_MS = 10;

/** Maximum bytes of one read. */
const CHUNK = 64 * 1024;

/** Maximum bytes of a configuration; a device may never end. */
const MAX_LENGTH = 64 * 1024 * 1024;

/**
 * Reads a configuration that is not a regular file: standard input, a pipe (`--config <(…)`). No thread is blocked, and
 * both the time and the length are limited. A pipe without a writer is polled as well, since the writer may not have
 * opened it yet.
 * @returns `undefined` for a regular file, a directory and a path that cannot be found: those are read, or reported, in
 * the usual way
 * @throws {ConfigError} of kind `io` when it cannot be read, is too long, or does not end in time
 */
export async function readStreamConfig(
  path: string,
  clock: Clock = systemClock,
): Promise<Uint8Array | undefined> {
  const stats = statsOf(path);
  const kind = stats && kindOfOther(stats);
  if (kind === undefined) return undefined;
  // Keeps the process alive, which the clock's timers do not.
  const alive = setInterval(() => undefined, 2 ** 30);
  try {
    await using file = await open(path, READ_WITHOUT_WAITING);
    return await readToEnd(file, kind, clock);
  } catch (error) {
    throw new ConfigError('io', `cannot read ${path}: ${messageOf(error)}`, { cause: error });
  } finally {
    clearInterval(alive);
  }
}

/** The stats of a path, read in this thread: most files are regular, and the thread pool may never be needed. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

async function readToEnd(file: FileHandle, kind: string, clock: Clock): Promise<Uint8Array> {
  const until = clock.now() + CONFIG_STREAM_MS;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const chunk = await readSome(file);
    const isEnd = chunk?.length === 0;
    if (isEnd && (length > 0 || kind !== 'pipe')) return Buffer.concat(chunks);
    if (chunk !== undefined && !isEnd) {
      length += chunk.length;
      if (length > MAX_LENGTH) throw new Error(`it is longer than ${MAX_LENGTH >> 20} MiB`);
      chunks.push(chunk);
      continue;
    }
    if (clock.now() >= until) {
      const what = length === 0 ? 'nothing came from' : 'no end came from';
      throw new Error(`${what} the ${kind} within ${CONFIG_STREAM_MS / 1000} s`);
    }
    await new Promise<void>((resolve) => void clock.after(RETRY_MS, resolve));
  }
}

/** The next bytes; empty at the end of the stream, `undefined` when there are none yet. */
async function readSome(file: FileHandle): Promise<Uint8Array | undefined> {
  const buffer = Buffer.allocUnsafe(CHUNK);
  try {
    const { bytesRead } = await file.read(buffer, 0, CHUNK, null);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') return undefined;
    throw error;
  }
}
