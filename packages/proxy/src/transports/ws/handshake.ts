import { hash } from 'node:crypto';
import { toDecodedTarget, toRequestTarget } from '../request-target.ts';

/** The opening handshake of RFC 6455 §4, and v2ray's early data in it. */

const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Computes the `Sec-WebSocket-Accept` for a client's `Sec-WebSocket-Key` (§4.2.2). */
export const acceptKey = (key: string): string => hash('sha1', key + ACCEPT_SUFFIX, 'base64');

/** Whether a `Sec-WebSocket-Key` is 16 bytes in base64 (§4.1). */
export const isKey = (key: string | undefined): key is string =>
  key !== undefined && /^[+/0-9A-Za-z]{22}==$/.test(key);

/** Limit of early data in bytes, sent or accepted. */
export const EARLY_DATA_LIMIT = 16_384;

/** Encodes early data as the value of `Sec-WebSocket-Protocol`. */
export const encodeEarlyData = (data: Uint8Array): string =>
  Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64url');

const BASE64 = /^[-_+/0-9A-Za-z]*={0,2}$/;

/**
 * Decodes the early data in a `Sec-WebSocket-Protocol` header, in base64 or base64url, with or without padding;
 * `undefined` for other values, such as a real list of protocols.
 */
export function decodeEarlyData(header: string | undefined): Buffer | undefined {
  if (header === undefined || header === '' || !BASE64.test(header)) return undefined;
  const digits = header.replace(/={1,2}$/, '').length;
  // Node skips invalid digits; a final group of one digit is less than a byte.
  return digits % 4 === 1 ? undefined : Buffer.from(header, 'base64url');
}

/** A configured `ws.path`, split into the path to request and the limit of early data. */
export interface WsPath {
  /** The path to request; starts with a slash. */
  readonly path: string;
  readonly earlyData: number;
}

/** Removes `ed=N` from the query of a path. The last `ed` applies; other parameters are kept. */
export function splitWsPath(text: string): WsPath {
  const [bare = '', ...rest] = text.split('?');
  const path = bare.startsWith('/') ? bare : `/${bare}`;
  let earlyData = 0;
  const kept = rest
    .join('?')
    .split('&')
    .filter((parameter) => {
      const [name, value = ''] = parameter.split('=', 2);
      if (name !== 'ed') return parameter !== '';
      earlyData = /^\d+$/.test(value) ? Math.min(Number(value), EARLY_DATA_LIMIT) : 0;
      return false;
    });
  return { path: kept.length > 0 ? `${path}?${kept.join('&')}` : path, earlyData };
}

/**
 * Whether a request target matches the path of an inbound, either exactly or as escaped by Go's clients. The query
 * matters only if the configured path has one.
 */
export function pathMatches(target: string, path: string): boolean {
  const asked = path.includes('?') ? splitWsPath(target).path : (target.split('?', 1)[0] ?? '');
  return asked === path || asked === toRequestTarget(path) || asked === toDecodedTarget(path);
}

/** Returns a `Host` without port and brackets, in lower case. */
export function hostWithoutPort(host: string): string {
  const lower = host.trim().toLowerCase();
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(lower);
  if (bracketed) return bracketed[1] ?? '';
  const [name = '', ...ports] = lower.split(':');
  // More than one colon: an IPv6 address without brackets.
  return ports.length === 1 ? name : lower;
}
