import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { ProtocolError } from '../../net/errors.ts';
import type { Connection } from './kept-connection.ts';
import { MAX_MESSAGE_SIZE } from '../message.ts';

export const DNS_MESSAGE = 'application/dns-message';

/** What questions are posted to. */
export interface DohTarget {
  /** Sent as `Host` or `:authority`. */
  readonly host: string;
  readonly path: string;
}

/** A response whose body is a DNS message. */
export interface DohResponse {
  readonly body: Buffer;
  /** Seconds that the message has spent in HTTP caches (RFC 8484 §5.1). */
  readonly age: number;
}

/** A connection to a DNS server over HTTP, whatever its version. */
export interface HttpConnection extends Connection {
  /**
   * Posts one DNS message.
   *
   * @throws {ConnectionLostError} when the connection failed before the whole response.
   * @throws {ProtocolError} when the response is not a DNS message.
   */
  post(message: Buffer, signal: AbortSignal): Promise<DohResponse>;
}

/** Header fields of the request, without those of its target. */
export const requestHeaders = (message: Buffer): Record<string, string> => ({
  'content-type': DNS_MESSAGE,
  accept: DNS_MESSAGE,
  'content-length': String(message.length),
});

/** Reads a response to its end. @throws {ProtocolError} and any error of the stream. */
export async function readResponse(
  status: number,
  headers: IncomingHttpHeaders,
  body: Readable,
): Promise<DohResponse> {
  if (status !== 200) throw new ProtocolError(`responded with HTTP status ${status}`);
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== DNS_MESSAGE) {
    throw new ProtocolError(`responded with ${type || 'no content type'}, not a DNS message`);
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_MESSAGE_SIZE) {
      throw new ProtocolError('the response is longer than a DNS message can be');
    }
    chunks.push(chunk);
  }
  const age = /^\d{1,9}$/.test(headers.age ?? '') ? Number(headers.age) : 0;
  return { body: Buffer.concat(chunks, length), age };
}
