import { createCipheriv, createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

/**
 * Bodies of any size that are never held whole: an AES-CTR key stream, so that a lost, doubled or
 * swapped piece changes the digest, and SHA-256 of it on either side.
 */
const CHUNK = 256 << 10;

/** What was sent or received. */
export interface Body {
  readonly bytes: number;
  /** SHA-256 in hex. */
  readonly digest: string;
}

/** The chunks of a body of `size` bytes; other seeds give other bytes. */
export function* pattern(size: number, seed = 1): Generator<Buffer> {
  const key = createHash('sha256').update(`weir ${seed}`).digest().subarray(0, 16);
  const cipher = createCipheriv('aes-128-ctr', key, Buffer.alloc(16));
  const zeros = Buffer.alloc(CHUNK);
  for (let left = size; left > 0; left -= CHUNK) {
    yield cipher.update(left >= CHUNK ? zeros : zeros.subarray(0, left));
  }
}

/** Writes a body without ending the stream; resolves when all of it was taken. */
export async function sendBody(to: Writable, size: number, seed = 1): Promise<Body> {
  const hash = createHash('sha256');
  for (const chunk of pattern(size, seed)) {
    hash.update(chunk);
    if (to.destroyed) throw new Error('the stream was aborted while a body was written');
    if (!to.write(chunk)) await drained(to);
  }
  return { bytes: size, digest: hash.digest('hex') };
}

/** Reads to the end, or exactly `size` bytes, and rejects when the stream is aborted before. */
export function receiveBody(from: Readable, size?: number): Promise<Body> {
  const { promise, resolve, reject } = Promise.withResolvers<Body>();
  const hash = createHash('sha256');
  let bytes = 0;
  const finish = (): void => {
    release();
    resolve({ bytes, digest: hash.digest('hex') });
  };
  const onData = (chunk: Buffer): void => {
    const wanted = size === undefined ? chunk : chunk.subarray(0, size - bytes);
    add(hash, wanted);
    bytes += wanted.length;
    if (bytes !== size) return;
    from.pause();
    if (wanted.length < chunk.length) from.unshift(chunk.subarray(wanted.length));
    finish();
  };
  const onEnd = (): void => {
    if (size === undefined) finish();
    else onAbort();
  };
  const onAbort = (error?: Error): void => {
    release();
    const why = error ? `: ${error.message}` : '';
    reject(new Error(`aborted after ${bytes} of ${size ?? 'any number of'} bytes${why}`));
  };
  const release = (): void => {
    from.off('data', onData).off('end', onEnd).off('error', onAbort).off('close', onAbort);
  };
  from.on('data', onData).on('end', onEnd).on('error', onAbort).on('close', onAbort);
  if (from.readableEnded) onEnd();
  else if (from.destroyed) onAbort();
  else from.resume();
  return promise;
}

/** The body that `sendBody` sends, without sending it; worked out once for each size and seed. */
export function bodyOf(size: number, seed = 1): Body {
  const key = `${size} ${seed}`;
  const known = BODIES.get(key);
  if (known) return known;
  const hash = createHash('sha256');
  for (const chunk of pattern(size, seed)) hash.update(chunk);
  const body = { bytes: size, digest: hash.digest('hex') };
  BODIES.set(key, body);
  return body;
}

const BODIES = new Map<string, Body>();

function add(hash: Hash, chunk: Uint8Array): void {
  if (chunk.length > 0) hash.update(chunk);
}

/** The next drain, or the end of the stream, whichever comes. */
async function drained(to: Writable): Promise<void> {
  const done = new AbortController();
  try {
    await Promise.race([
      once(to, 'drain', { signal: done.signal }),
      once(to, 'close', { signal: done.signal }),
    ]);
  } finally {
    done.abort();
  }
}
