import { STATUS_CODES } from 'node:http';
import { MessageError } from './errors.ts';
import { field, valuesOf, type Field, type Fields } from './fields.ts';
import { headBytes } from './forwarding.ts';
import type { RequestHead } from './head.ts';

const KEY = 'max-forwards';

/** The methods whose hops a client may count (RFC 9110 §7.6.2); others pass with it as it is. */
const COUNTED: ReadonlySet<string> = new Set(['TRACE', 'OPTIONS']);

/** The most that is sent on, which every other proxy can read. */
const MOST = 2 ** 31 - 1;

/** What an OPTIONS hears that asked about this proxy: the registered methods, which it forwards. */
const ALLOW = 'CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, TRACE';

/** What a TRACE does not send back: credentials, of which the request came with some (§9.3.8). */
const SENSITIVE: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'cookie2',
  'proxy-authorization',
]);

/**
 * How many more times a request may be forwarded; `undefined` when it does not say, or is of a
 * method for which that does not count.
 *
 * @throws {MessageError} 400 for what is no number, and for several of them, which the next reader
 *   could take another way.
 */
export function hopsLeft({ method, fields }: RequestHead): number | undefined {
  if (!COUNTED.has(method)) return undefined;
  const [value, second] = valuesOf(fields, KEY);
  if (value === undefined) return undefined;
  if (second !== undefined || !/^[0-9]+$/.test(value)) {
    throw new MessageError(400, 'Max-Forwards is no number');
  }
  return Number(value);
}

/** The head to forward for a request that has `hops` left, more than none. */
export function withOneHopLess(head: RequestHead, hops: number): RequestHead {
  const left = String(Math.min(hops - 1, MOST));
  const fields = head.fields.map((entry) => (entry.key === KEY ? field(entry.name, left) : entry));
  return { ...head, fields };
}

/**
 * The response to a TRACE or OPTIONS that may not be forwarded, as if this proxy were its origin
 * (RFC 9110 §7.6.2): a TRACE hears what arrived here (§9.3.8), an OPTIONS what is supported (§9.3.7).
 */
export function finalResponse(head: RequestHead, keep: boolean): Buffer {
  if (head.method !== 'TRACE') return response([field('Allow', ALLOW)], Buffer.alloc(0), keep);
  const echo = echoOf(head);
  return response([field('Content-Type', 'message/http')], echo, keep);
}

const echoOf = ({ method, target, version, fields }: RequestHead): Buffer =>
  headBytes(
    `${method} ${target} HTTP/${version}`,
    fields.filter(({ key }) => !SENSITIVE.has(key)),
  );

function response(about: Fields, body: Uint8Array, keep: boolean): Buffer {
  const fields: Field[] = [...about, field('Content-Length', String(body.length))];
  if (!keep) fields.push(field('Connection', 'close'));
  return Buffer.concat([headBytes(`HTTP/1.1 200 ${STATUS_CODES[200]}`, fields), body]);
}
