import { STATUS_CODES } from 'node:http';
import type { DialErrorCode } from '../../net/errors.ts';
import { field, type Fields } from './fields.ts';
import { headBytes } from './forwarding.ts';

/** What a CONNECT is answered with once its destination is connected (RFC 9110 §9.3.6). */
export const CONNECTED = Buffer.from('HTTP/1.1 200 Connection established\r\n\r\n');

/** Sent with 407; the realm tells nothing about who asks. */
export const CHALLENGE: Fields = [field('Proxy-Authenticate', 'Basic realm="proxy"')];

/** The status that tells a client why its destination was not reached. */
export const STATUS_OF: Readonly<Record<DialErrorCode, number>> = {
  refused: 502,
  unreachable_host: 502,
  unreachable_network: 502,
  not_found: 502,
  upstream: 502,
  failed: 502,
  timed_out: 504,
  blocked: 403,
  forbidden: 403,
  loop: 508,
  unsupported: 501,
  aborted: 503,
};

export interface Answer {
  readonly status: number;
  /** One line for the person at the other end. */
  readonly reason: string;
  readonly fields?: Fields;
  /** Whether the connection goes on after it. */
  readonly keep: boolean;
  /** Whether it answers a HEAD, which gets the length of the text but not the text. */
  readonly headOnly: boolean;
}

/** A response of the proxy's own: a status and a line of plain text that says why. */
export function answerBytes({ status, reason, fields = [], keep, headOnly }: Answer): Buffer {
  // oxlint-disable-next-line no-control-regex
  const text = Buffer.from(`${reason.replaceAll(/[\0-\x1f\x7f]+/g, ' ')}\n`);
  const head = headBytes(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, [
    ...fields,
    field('Content-Type', 'text/plain; charset=utf-8'),
    field('Content-Length', String(text.length)),
    ...(keep ? [] : [field('Connection', 'close')]),
  ]);
  return headOnly ? head : Buffer.concat([head, text]);
}
