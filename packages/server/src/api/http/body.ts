import type { IncomingMessage } from 'node:http';
import { BadRequest } from './response.ts';

/** The longest request body that is accepted, in bytes. */
const MAX_BODY = 2_097_152;

/**
 * Maximum bytes of an oversized body that are still read. A client may write its whole request before it reads the
 * response; closing earlier would lose the response.
 */
export const MAX_DISCARDED = 64 << 20;

/** `application/json` or a type built on it (RFC 6839 §3.1), with or without parameters. */
const JSON_TYPE = /^application\/(?:[\w!#$&^.+-]+\+)?json[ \t]*(?:;|$)/i;

/** @throws {BadRequest} when the content type is not JSON. */
export function requireJson(contentType: string | undefined): void {
  if (contentType !== undefined && JSON_TYPE.test(contentType)) return;
  throw new BadRequest('Expected request with `Content-Type: application/json`');
}

const tooLong = (): BadRequest =>
  new BadRequest('Failed to buffer the request body: length limit exceeded');

/**
 * Reads a request body. `invite` is called for a client that waits for `100 Continue`.
 * @throws {BadRequest} when the body is too long, or ends before it is complete.
 */
export async function readBody(request: IncomingMessage, invite?: () => void): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > (invite ? MAX_BODY : MAX_DISCARDED)) throw tooLong();
  invite?.();
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length <= MAX_BODY) chunks.push(chunk);
      else chunks.length = 0;
      if (length > MAX_DISCARDED) break;
    }
  } catch (error) {
    throw new BadRequest(
      `Failed to buffer the request body: ${error instanceof Error ? error.message : 'aborted'}`,
    );
  }
  if (length > MAX_BODY) throw tooLong();
  return Buffer.concat(chunks, length);
}
