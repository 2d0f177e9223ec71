import {
  type Framing,
  field,
  listOf,
  valuesOf,
  type FieldLine,
  type FieldLines,
  headBytes,
  type RequestHead,
  type ResponseHead,
  MessageError,
} from '@weir/http/http1';
import { STATUS_CODES } from 'node:http';
import { shownTarget } from '../request-target.ts';

/**
 * Fields that are not forwarded: those of a connection (RFC 9110 §7.6.1), and the framing, which is
 * generated for each side. Fields that `Connection` names are removed as well.
 */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** Fields that are not allowed in trailers (RFC 9110 §6.5.1). */
const NO_TRAILER: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'authorization',
  'content-encoding',
  'content-range',
  'content-type',
  'cookie',
  'expect',
  'host',
  'set-cookie',
  'trailer',
]);

export const mayTrail = (trailer: FieldLine): boolean => !NO_TRAILER.has(trailer.key);

/** Whether the sender keeps the connection open after this exchange (RFC 9112 §9.3). */
export function persists({ version, fields }: { version: string; fields: FieldLines }): boolean {
  // A proxy does not keep connections with HTTP/1.0 clients (§9.3), nor does it request that of origins.
  if (version === '1.0') return false;
  return (
    !listOf(fields, 'connection').includes('close') &&
    !listOf(fields, 'proxy-connection').includes('close')
  );
}

/** Whether the client waits for 100 Continue before it sends its body (RFC 9110 §10.1.1). */
export const expectsContinue = ({ version, fields }: RequestHead): boolean =>
  version === '1.1' && listOf(fields, 'expect').includes('100-continue');

/**
 * Returns the protocols that the client offers to switch to; `undefined` for none.
 *
 * `h2c` is omitted: its settings are hop-by-hop, and the proxy could not see later requests.
 */
export function upgradeOf({ version, fields }: RequestHead): string | undefined {
  if (version === '1.0' || !listOf(fields, 'connection').includes('upgrade')) return undefined;
  const offered = valuesOf(fields, 'upgrade')
    .flatMap((value) => value.split(','))
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== '' && protocol.toLowerCase() !== 'h2c');
  return offered.length > 0 ? offered.join(', ') : undefined;
}

export interface OriginRequest {
  readonly head: RequestHead;
  /** The value that replaces the `Host` of the client (RFC 9112 §3.2.2). */
  readonly authority: string;
  readonly path: string;
  readonly framing: Framing;
  readonly upgrade: string | undefined;
  /** Whether the origin may keep the connection for another request. */
  readonly keep: boolean;
  /** The name of this proxy in `Via`. */
  readonly pseudonym: string;
}

/** Whether a proxy with that pseudonym has forwarded the request before (RFC 9110 §7.6.3). */
export const hasPassed = (fields: FieldLines, pseudonym: string): boolean =>
  valuesOf(fields, 'via').some((value) => value.includes(pseudonym));

/** Returns the head of a client's request as it is sent to an origin. */
export function originHead(request: OriginRequest): Buffer {
  const { head, authority, path, framing, upgrade, keep, pseudonym } = request;
  const isNamed = namedBy(head.fields);
  const fields = [field('Host', authority)];
  for (const entry of head.fields) {
    if (entry.key === 'host' || isNamed(entry)) continue;
    if (entry.key === 'expect' && head.version === '1.0') continue;
    if (entry.key === 'trailer' && framing.kind !== 'chunked') continue;
    fields.push(entry);
  }
  if (framing.kind === 'none' && valuesOf(head.fields, 'content-length').length > 0) {
    fields.push(field('Content-Length', '0'));
  }
  fields.push(field('Via', `${head.version} ${pseudonym}`));
  fields.push(...framingFields(framing));
  const options: string[] = [];
  if (head.version === '1.1' && listOf(head.fields, 'te').includes('trailers')) {
    options.push('TE');
    fields.push(field('TE', 'trailers'));
  }
  if (upgrade !== undefined) {
    options.push('Upgrade');
    fields.push(field('Upgrade', upgrade));
  } else if (!keep) {
    options.push('close');
  }
  if (options.length > 0) fields.push(field('Connection', options.join(', ')));
  return headBytes(`${head.method} ${path} HTTP/1.1`, fields);
}

export interface ClientResponse {
  readonly head: ResponseHead;
  /** The framing of the response; `until-close` for a client that cannot read chunks. */
  readonly framing: Framing;
  /** Whether the connection persists after the response. */
  readonly keep: boolean;
}

/** Returns the head of an origin's response, interim or final, as it is sent to a client. */
export function clientHead({ head, framing, keep }: ClientResponse): Buffer {
  const isNamed = namedBy(head.fields);
  const fields: FieldLine[] = [];
  for (const entry of head.fields) {
    if (isNamed(entry)) continue;
    if (entry.key === 'trailer' && framing.kind !== 'chunked') continue;
    fields.push(entry);
  }
  if (framing.kind === 'none' && head.status >= 200 && head.status !== 204) {
    // 0, or the length of the body that a response to HEAD or a 304 omits.
    const length = /^[0-9]+/.exec(valuesOf(head.fields, 'content-length')[0] ?? '')?.[0];
    if (length !== undefined) fields.push(field('Content-Length', length));
  }
  fields.push(...framingFields(framing));
  const options: string[] = [];
  if (head.status === 101 || head.status === 426) {
    options.push('Upgrade');
    for (const value of valuesOf(head.fields, 'upgrade')) fields.push(field('Upgrade', value));
  }
  if (!keep && head.status >= 200) options.push('close');
  if (options.length > 0) fields.push(field('Connection', options.join(', ')));
  return headBytes(`HTTP/1.1 ${head.status} ${head.reason}`, fields);
}

function namedBy(fields: FieldLines): (entry: FieldLine) => boolean {
  const named = new Set(listOf(fields, 'connection'));
  return ({ key }) => HOP_BY_HOP.has(key) || named.has(key);
}

function framingFields(framing: Framing): FieldLine[] {
  if (framing.kind === 'length') return [field('Content-Length', String(framing.length))];
  if (framing.kind === 'chunked') return [field('Transfer-Encoding', 'chunked')];
  return [];
}

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
