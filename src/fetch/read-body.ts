import type { IncomingMessage } from 'node:http';
import { pipeline, type Transform } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import { FetchError } from './contract.ts';

/**
 * The accepted content codings (RFC 9110 §8.4.1). Not Brotli: its decoder in Node had a vulnerability that any server's
 * body could trigger (CVE-2026-111497), and documents of a few hundred kilobytes gain little by it.
 */
export const ACCEPTED_ENCODINGS = 'gzip, deflate';

/** Maximum bytes by which an encoded body may exceed the limit; this ends a stream that decodes to nothing. */
const ENCODING_OVERHEAD = 64 * 1024;

/**
 * Reads and decodes the body of a response. Decoding stops at the limit, so that a small body that decodes to a large
 * one takes no more memory.
 *
 * @param host for messages
 * @throws {FetchError} `too_large`, or `protocol` for an unknown coding or a body that is invalid in it; and the errors
 * of the response
 */
export async function readBody(
  response: IncomingMessage,
  host: string,
  maxBytes: number,
): Promise<Uint8Array> {
  const tooLarge = (): FetchError =>
    new FetchError('too_large', host, `the document has more than ${maxBytes} bytes`);
  const decoder = decoderOf(response.headers['content-encoding'], host);
  const limit = maxBytes + (decoder ? ENCODING_OVERHEAD : 0);
  if (Number(response.headers['content-length'] ?? 0) > limit) throw tooLarge();
  let received = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      received += chunk.length;
      if (received > limit) throw tooLarge();
      yield chunk;
    }
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of decoder ? decodedBy(decoder, counted()) : counted()) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (!isDecoderError(error)) throw error;
    throw new FetchError('protocol', host, 'the compressed body is invalid or truncated', {
      cause: error,
    });
  }
  return Buffer.concat(chunks, size);
}

function decodedBy(
  decoder: Transform,
  encoded: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  // The reader of the decoder receives errors of both streams.
  pipeline(encoded, decoder, () => undefined);
  return decoder as AsyncIterable<Uint8Array>;
}

/** The decoder of a content coding; `undefined` for none. @throws {FetchError} `protocol` */
function decoderOf(coding: string | undefined, host: string): Transform | undefined {
  switch (coding?.trim().toLowerCase()) {
    case undefined:
    case '':
    case 'identity':
      return undefined;
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    default:
      throw new FetchError(
        'protocol',
        host,
        `the body has the content coding ${coding}, which was not asked for`,
      );
  }
}

/**
 * Whether an error is the decoder's: codes of zlib begin with `Z_`, those of a closed Node decoder with `ERR_`; both
 * lack a system call.
 */
const isDecoderError = (error: unknown): error is Error =>
  error instanceof Error &&
  'errno' in error &&
  'code' in error &&
  typeof error.code === 'string' &&
  /^(?:Z_|ERR_)/.test(error.code);
