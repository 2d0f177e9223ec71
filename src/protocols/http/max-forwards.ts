import { STATUS_CODES } from 'node:http';
import { MessageError } from '../../http/http1/message-error.ts';
import { field, valuesOf, type FieldLine, type FieldLines } from '../../http/http1/fields.ts';
import { headBytes, type RequestHead } from '../../http/http1/head.ts';
import { shownTarget } from './request-target.ts';

const KEY = 'max-forwards';

/** The methods to which Max-Forwards applies (RFC 9110 §7.6.2); for others it is ignored. */
const COUNTED: ReadonlySet<string> = new Set(['TRACE', 'OPTIONS']);

/** The largest value that is forwarded: every recipient can parse it. */
const MOST = 2 ** 31 - 1;

/** The value of `Allow` in a response to OPTIONS: the registered methods, all of which are forwarded. */
const ALLOW = 'CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, TRACE';

/** Fields with credentials, which the response to a TRACE should exclude (§9.3.8), as it does user information. */
const SENSITIVE: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'cookie2',
  'proxy-authorization',
]);

/**
 * Returns the number of times that a request may still be forwarded; `undefined` without the field, or when it does not
 * apply to the method.
 *
 * @throws {MessageError} 400 for an invalid or repeated field: the next recipient could choose another of its values.
 */
export function hopsLeft({ method, fields }: RequestHead): number | undefined {
  if (!COUNTED.has(method)) return undefined;
  const [value, second] = valuesOf(fields, KEY);
  if (value === undefined) return undefined;
  if (second !== undefined || !/^[0-9]+$/.test(value)) {
    throw new MessageError(400, 'invalid Max-Forwards');
  }
  return Number(value);
}

/** Returns the head to forward for a request with `hops` left, at least 1. */
export function withOneHopLess(head: RequestHead, hops: number): RequestHead {
  const left = String(Math.min(hops - 1, MOST));
  const fields = head.fields.map((entry) => (entry.key === KEY ? field(entry.name, left) : entry));
  return { ...head, fields };
}

/**
 * Returns the response to a TRACE or OPTIONS that must not be forwarded, as the final recipient (RFC 9110
 * §7.6.2): for TRACE the request itself (§9.3.8), for OPTIONS the supported methods (§9.3.7).
 */
export function finalResponse(head: RequestHead, keep: boolean): Buffer {
  if (head.method !== 'TRACE') return response([field('Allow', ALLOW)], Buffer.alloc(0), keep);
  const echo = echoOf(head);
  return response([field('Content-Type', 'message/http')], echo, keep);
}

const echoOf = ({ method, target, version, fields }: RequestHead): Buffer =>
  headBytes(
    `${method} ${shownTarget(target)} HTTP/${version}`,
    fields.filter(({ key }) => !SENSITIVE.has(key)),
  );

function response(about: FieldLines, body: Uint8Array, keep: boolean): Buffer {
  const fields: FieldLine[] = [...about, field('Content-Length', String(body.length))];
  if (!keep) fields.push(field('Connection', 'close'));
  return Buffer.concat([headBytes(`HTTP/1.1 200 ${STATUS_CODES[200]}`, fields), body]);
}
