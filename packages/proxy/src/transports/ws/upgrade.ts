import { hash } from 'node:crypto';
import type { RandomSource } from '@weir/base/random';
import {
  combinedOf,
  type FieldLines,
  listOf,
  requestFraming,
  type RequestHead,
  type ResponseHead,
  valuesOf,
} from '@weir/http/http1';
import { hasControl } from '@weir/http/fields';
import { ProtocolError } from '@weir/io';
import { shownForeign } from '@weir/io/addresses';
import { Opcode, wholeFrame } from './frames.ts';
import type { InboundCarrierSpec, OutboundCarrierSpec } from '../../spec.ts';
import { toRequestTarget } from '../request-target.ts';
import {
  acceptKey,
  decodeEarlyData,
  EARLY_DATA_LIMIT,
  encodeEarlyData,
  hostWithoutPort,
  isKey,
  pathMatches,
} from './handshake.ts';

/**
 * A mark by which two instances of Weir agree that each ends its side with a Close frame and continues to read. Other
 * programs end both sides when they receive one.
 *
 * 10 bytes of a client's `Sec-WebSocket-Key` are random, and 6 are derived from them. A server that recognises such a
 * key sends a Pong with 8 bytes of a hash of the key directly after its 101 response. An intermediary that generates
 * its own key or forwards no Pong prevents the agreement, and the client then treats the server like any other. A
 * header would also work, but a firewall could match it, and a proxy that terminates the WebSocket, and therefore
 * answers Close frames itself, may copy it. RFC 6455 §5.5.3 allows an unsolicited Pong.
 */
const KEY_BYTES = 16;
const RANDOM_BYTES = 10;
const REPLY_BYTES = 8;

const digest = (purpose: string, bytes: Uint8Array): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(purpose), bytes]), 'buffer');

const markOf = (key: Buffer): Buffer =>
  digest('weir half-close offer', key.subarray(0, RANDOM_BYTES)).subarray(
    0,
    KEY_BYTES - RANDOM_BYTES,
  );

/** Returns a `Sec-WebSocket-Key` with the mark. */
export function markedKey(random: RandomSource): string {
  const key = random.bytes(KEY_BYTES);
  key.set(markOf(key), RANDOM_BYTES);
  return key.toString('base64');
}

/** Whether a `Sec-WebSocket-Key` has the mark; another program's key has it by chance once in 2^48. */
export function isMarked(base64: string): boolean {
  const key = Buffer.from(base64, 'base64');
  return key.length === KEY_BYTES && markOf(key).equals(key.subarray(RANDOM_BYTES));
}

/** Returns the frame of a server that recognises the mark in a key. */
export const markReply = (base64: string): Buffer =>
  wholeFrame(Opcode.pong, [
    digest('weir half-close reply', Buffer.from(base64, 'base64')).subarray(0, REPLY_BYTES),
  ]);

const MEANINGS: Readonly<Record<number, string>> = {
  200: 'it is a web server, or the path is one of its pages',
  400: 'it takes the request for no upgrade; a proxy before it may not pass upgrades on',
  401: 'a web server before it requires a password',
  403: 'a web server before it forbids the path',
  404: 'path and host have to be those of the server',
  426: 'it requires another protocol at this path',
  502: 'a web server before it cannot reach the proxy behind',
  503: 'a web server before it cannot reach the proxy behind',
  504: 'a web server before it cannot reach the proxy behind',
};

const LONGEST_LOCATION = 200;

/**
 * Describes a response that does not upgrade, and its likely cause.
 * @param location the target of a redirect.
 */
export function statusInWords(statusCode: number, location: string | undefined): string {
  const status = `the server responded with HTTP status ${statusCode}`;
  if (statusCode >= 300 && statusCode < 400 && location !== undefined) {
    const where = shownForeign(JSON.stringify(location.slice(0, LONGEST_LOCATION)));
    const advice = /^https:/i.test(location) ? '; security = "tls" may be missing' : '';
    return `${status} (it redirects to ${where}${advice})`;
  }
  const meaning = MEANINGS[statusCode];
  return meaning === undefined ? status : `${status} (${meaning})`;
}

/** The messages of the opening handshake (RFC 6455 §4), and their validation. */

/**
 * Limit of a message head in bytes: a request with 16 KB of early data in base64 and the headers of a browser and a
 * CDN.
 */
export const HEAD_BYTES = 40 * 1024;
export const HEAD_FIELDS = 100;

type ServerSpec = Extract<InboundCarrierSpec, { kind: 'ws' }>;
type ClientSpec = Extract<OutboundCarrierSpec, { kind: 'ws' }>;

/** The response of a server. */
export type UpgradeResponse = Accepted | Rejection;

interface Accepted {
  readonly status: 101;
  readonly response: Buffer;
  readonly early: Buffer | undefined;
  /** Whether the client is Weir, to which the server then identifies itself. */
  readonly isWeir: boolean;
}

interface Rejection {
  readonly status: Rejected;
  readonly response: Buffer;
  /** Whether the server reads another request from the connection. */
  readonly keepsOpen: boolean;
}

type Rejected = keyof typeof REASONS;

const REASONS = {
  400: 'Bad Request',
  404: 'Not Found',
  431: 'Request Header Fields Too Large',
} as const;

const PLAIN_TEXT = 'Content-Type: text/plain; charset=utf-8';
const PAGE = '404 page not found\n';

const message = (lines: readonly string[], body = ''): Buffer =>
  Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1');

/** Returns the response to an invalid request, identical to that of Go's HTTP server. */
export const rejection = (status: Rejected): Rejection => {
  const text = `${status} ${REASONS[status]}`;
  const lines = [`HTTP/1.1 ${text}`, PLAIN_TEXT, 'Connection: close'];
  return { status, response: message(lines, text), keepsOpen: false };
};

/**
 * Returns the response to a request for another page, identical to that of Go's `http.NotFound`: many programs in Go
 * are web servers without pages, so the response does not identify Weir.
 *
 * @param wall milliseconds of Unix time.
 */
function notFound(head: RequestHead, wall: number): Rejection {
  const { method, version, fields } = head;
  const options = listOf(fields, 'connection');
  const hasBody = requestFraming(head).kind !== 'none';
  const lines = [
    `HTTP/${version} 404 Not Found`,
    PLAIN_TEXT,
    'X-Content-Type-Options: nosniff',
    `Date: ${new Date(wall).toUTCString()}`,
    `Content-Length: ${PAGE.length}`,
  ];
  const keepsOpen = version === '1.1' && !options.includes('close') && !hasBody;
  // A response of HTTP/1.0 ends with the connection in any case.
  if (version === '1.1' && !keepsOpen) lines.push('Connection: close');
  return { status: 404, response: message(lines, method === 'HEAD' ? '' : PAGE), keepsOpen };
}

/**
 * Returns the response to a request. A request that is not an upgrade gets that of a web server without pages.
 *
 * @param wall milliseconds of Unix time.
 * @throws {MessageError} 400 if the length of the request's body is ambiguous.
 */
export function judgeRequest(head: RequestHead, spec: ServerSpec, wall: number): UpgradeResponse {
  const status = statusOf(head, spec);
  if (status === 404) return notFound(head, wall);
  if (status !== 101) return rejection(status);
  const key = combinedOf(head.fields, 'sec-websocket-key') ?? '';
  const protocol = combinedOf(head.fields, 'sec-websocket-protocol');
  const early = decodeEarlyData(protocol);
  if (early && early.length > EARLY_DATA_LIMIT) return rejection(431);
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${acceptKey(key)}`,
  ];
  // Browsers require the server to choose one of the offered protocols. Other clients need no copy of the early data:
  // nginx has 4 KB for the head of a response, and responds with 502 to a longer one.
  const isBrowser = valuesOf(head.fields, 'origin').length > 0;
  if (isBrowser && early && early.length > 0) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
  const isWeir = isMarked(key);
  const response = message(lines);
  return {
    status,
    response: isWeir ? Buffer.concat([response, markReply(key)]) : response,
    early,
    isWeir,
  };
}

function statusOf(head: RequestHead, { path, host }: ServerSpec): 101 | Rejected {
  const { method, target, version, fields } = head;
  const framing = requestFraming(head);
  const hosts = valuesOf(fields, 'host');
  // RFC 9112 §3.2.
  if (hosts.length > 1) return 400;
  if (!pathMatches(target, path)) return 404;
  // Without a configured host any host matches, and so does a request without one.
  if (host !== undefined && hostWithoutPort(hosts[0] ?? '') !== host) return 404;
  if (method !== 'GET' || version !== '1.1' || !upgradesToWebSocket(fields)) return 404;
  // If the request had a body, recipients could disagree on where the first frame begins.
  if (framing.kind !== 'none') return 400;
  const isVersionKnown = combinedOf(fields, 'sec-websocket-version') === '13';
  return isVersionKnown && isKey(combinedOf(fields, 'sec-websocket-key')) ? 101 : 400;
}

const upgradesToWebSocket = (fields: FieldLines): boolean =>
  combinedOf(fields, 'upgrade')?.toLowerCase() === 'websocket' &&
  listOf(fields, 'connection').includes('upgrade');

/**
 * Returns the request of a client.
 *
 * @param key 16 random bytes in base64.
 * @throws {ProtocolError} if the host is invalid in HTTP.
 */
export function upgradeRequest(
  { path, host }: ClientSpec,
  key: string,
  early: Uint8Array | undefined,
): Buffer {
  // The second pattern matches characters that latin1 cannot encode.
  if (hasControl(host) || /[^\0-\xff]/.test(host)) {
    throw new ProtocolError('the host has a character that HTTP does not allow');
  }
  const lines = [
    `GET ${toRequestTarget(path)} HTTP/1.1`,
    `Host: ${host}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Key: ${key}`,
    'Sec-WebSocket-Version: 13',
  ];
  if (early) lines.push(`Sec-WebSocket-Protocol: ${encodeEarlyData(early)}`);
  return message(lines);
}

/** Returns the reason why a response to a request with `key` does not upgrade; `undefined` if it does. */
export function problemWith({ status, fields }: ResponseHead, key: string): string | undefined {
  if (status !== 101) return statusInWords(status, combinedOf(fields, 'location'));
  if (!upgradesToWebSocket(fields)) return 'the server upgrades to another protocol';
  if (combinedOf(fields, 'sec-websocket-accept') !== acceptKey(key))
    return 'Sec-WebSocket-Accept does not match the request';
  if (valuesOf(fields, 'sec-websocket-extensions').length > 0)
    return 'the server uses an extension that was not offered';
  return undefined;
}
