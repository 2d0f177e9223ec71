import type { IncomingMessage } from 'node:http';
import { pipeline, type Transform } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import { FetchError } from './contract.ts';

/**
 * The content codings that are asked for (RFC 9110 §8.4.1). No Brotli: its decoder in Node had a hole that the body of
 * any server reached (CVE-2026-111497), and documents of a few hundred kilobytes gain little by it.
 */
export const ACCEPTED_ENCODINGS = 'gzip, deflate';

/** What an encoded body may have more than the decoded one; a stream that never decodes to anything ends here. */
const ENCODING_OVERHEAD = 64 * 1024;

/**
 * The decoded body of a response. Decoding stops at the limit, so that a small body that decodes to a
 * large one takes no more memory than that.
 *
 * @param host for messages.
 * @throws {FetchError} `too_large`, or `protocol` for a coding that is unknown or a body that breaks it; and
 *   the errors of the response.
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
  // Errors of either end reach the reader of the decoder.
  pipeline(encoded, decoder, () => undefined);
  return decoder as AsyncIterable<Uint8Array>;
}

/** @throws {FetchError} `protocol` */
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

/** Codes of zlib begin with `Z_`, those of a decoder that Node has closed with `ERR_`; both lack a system call. */
const isDecoderError = (error: unknown): error is Error =>
  error instanceof Error &&
  'errno' in error &&
  'code' in error &&
  typeof error.code === 'string' &&
  /^(?:Z_|ERR_)/.test(error.code);
