import { STATUS_CODES } from 'node:http';
import type { DialErrorCode } from '@weir/io';
import { field, type FieldLines, headBytes, valuesOf } from '@weir/http/http1';
import type { Account, AccountTable } from '../users/account-table.ts';
import type { SentCredentials } from '../inbounds/authorize.ts';
import type { AuthenticatedUser } from '../users/accounts.ts';

/** The response to a CONNECT whose destination is connected (RFC 9110 §9.3.6). */
export const CONNECTED = Buffer.from('HTTP/1.1 200 Connection established\r\n\r\n');

/** The challenge sent with 407; the realm does not identify this host. */
export const CHALLENGE: FieldLines = [field('Proxy-Authenticate', 'Basic realm="proxy"')];

/** The status for a destination that was not reached. */
export const STATUS_OF: Readonly<Record<DialErrorCode, number>> = {
  refused: 502,
  unreachable_host: 502,
  unreachable_network: 502,
  not_found: 502,
  unresolved: 502,
  upstream: 502,
  unknown_outbound: 502,
  failed: 502,
  timed_out: 504,
  blocked: 403,
  forbidden: 403,
  loop: 508,
  unsupported: 501,
  aborted: 503,
};

/** A response that the proxy itself generates. */
interface OwnResponse {
  readonly status: number;
  /** The body: one line of text for the user. */
  readonly reason: string;
  readonly fields?: FieldLines;
  /** Whether the connection persists after the response. */
  readonly keep: boolean;
  /** Whether the response is to a HEAD, with the length of the text but without the text. */
  readonly headOnly: boolean;
}

export function responseBytes({
  status,
  reason,
  fields = [],
  keep,
  headOnly,
}: OwnResponse): Buffer {
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

/** Returns the value of `Proxy-Authorization` for an account (RFC 7617 §2). */
export const basicCredentials = ({ user, pass }: Account): string =>
  `Basic ${Buffer.from(`${user}:${pass}`).toString('base64')}`;

/** Returns the account that a request authenticates; `undefined` without valid `Proxy-Authorization`. */
export function accountOf(
  fields: FieldLines,
  accounts: AccountTable,
): AuthenticatedUser | undefined {
  const sent = credentialsOf(fields);
  return sent && accounts.authenticate(sent.user, sent.pass);
}

/** Returns the user name and the password of a request; `undefined` without valid `Proxy-Authorization`. */
export function credentialsOf(fields: FieldLines): SentCredentials | undefined {
  const credentials = decode(fields);
  const colon = credentials?.indexOf(':') ?? -1;
  if (!credentials || colon < 0) return undefined;
  return { user: credentials.subarray(0, colon), pass: credentials.subarray(colon + 1) };
}

/** Whether a request has any `Proxy-Authorization`; the first request of a browser does not. */
export const hasCredentials = (fields: FieldLines): boolean =>
  valuesOf(fields, 'proxy-authorization').length > 0;

/** Decodes the header value. A repeated header is invalid: the next recipient might choose another of its values. */
function decode(fields: FieldLines): Buffer | undefined {
  const [value = '', second] = valuesOf(fields, 'proxy-authorization');
  const token = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value)?.[1];
  return token === undefined || second !== undefined ? undefined : Buffer.from(token, 'base64');
}
