import { inspect } from 'node:util';
import { ipVersion } from '@weir/base/ip';
import { parseIPv6 } from '@weir/io/addresses';
import {
  type Decoded,
  disclosed,
  type Located,
  located,
  narrowed,
  optional,
  secret,
  str,
  struct,
} from '@weir/proxy/schema';
import { Finding } from './findings.ts';

/** The default listen address of the API. */
export const DEFAULT_API_LISTEN = '127.0.0.1:9090';

/** The listen address of the API; `text` is as written, for log lines and errors. */
export type ApiListen =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly text: string }
  | { readonly kind: 'unix'; readonly path: string; readonly text: string };

/** Why no request can carry a secret as its bearer token, after the name of the secret; `undefined` if one can. */
export function unsendableBecause(secret: string): string | undefined {
  return secret === secret.trim() && !NOT_IN_A_HEADER.test(secret)
    ? undefined
    : 'has white space at an end, or characters other than visible ASCII, spaces and tabs: no request can send it';
}

const NOT_IN_A_HEADER = /[^\t\x20-\x7e]/;

/** The table `[api]` as written. */
export const apiTable = struct(
  {
    listen: optional(narrowed(located(disclosed(str)), { default: DEFAULT_API_LISTEN })),
    secret: optional(located(secret)),
  },
  {
    listen: 'ip:port, or the path of a unix socket',
    secret: 'Bearer token of every request; required unless only this host can connect',
  },
);
export type ApiTable = Decoded<typeof apiTable>;

/** The options of `[api]`. Printing or serialising them in any way does not reveal the secret. */
export class ApiOptions {
  readonly listen: ApiListen;
  readonly #secret: string | undefined;

  constructor(listen: ApiListen, secret: string | undefined) {
    this.listen = listen;
    this.#secret = secret;
  }

  /** The bearer token that every request must carry; `undefined` if none is required. */
  get secret(): string | undefined {
    return this.#secret;
  }

  /** Whether two options have the same address and secret. */
  equals(other: ApiOptions | undefined): boolean {
    return other?.listen.text === this.listen.text && other.#secret === this.#secret;
  }

  toJSON(): { listen: string; secret: string | null } {
    return {
      listen: this.listen.text,
      secret: this.#secret === undefined ? null : '(not shown)',
    };
  }

  [inspect.custom](): string {
    return `ApiOptions ${inspect(this.toJSON())}`;
  }
}

/**
 * Lowers `[api]`. Checks, in this order: the syntax of `listen`, an empty secret, an address that
 * other hosts can reach without a secret.
 *
 * @throws {Finding}
 */
export function lowerApi(table: ApiTable): ApiOptions {
  const listen = parseListen(table.listen);
  const token = table.secret;
  if (token?.value === '') throw new Finding('[api] secret is empty', token.span);
  if (!token && !isLocal(listen)) {
    throw new Finding(
      `[api] listen ${listen.text}: an API reachable from other hosts needs a secret; listen on a loopback address or a unix socket, or set one`,
      table.listen?.span,
    );
  }
  return new ApiOptions(listen, token?.value);
}

function parseListen(written: Located<string> | undefined): ApiListen {
  const text = written?.value ?? DEFAULT_API_LISTEN;
  if (text.includes('/')) return { kind: 'unix', path: text, text };
  const { host = '', digits = '' } = LISTEN_ADDRESS.exec(text)?.groups ?? {};
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  const valid =
    bare === host ? ipVersion(host) === 4 : ipVersion(bare) === 6 && !NAMED_ZONE.test(bare);
  const port = Number(digits);
  if (valid && port <= MAX_PORT) return { kind: 'tcp', host: bare, port, text };
  throw new Finding(
    `[api] listen ${JSON.stringify(text)}: expected ip:port, or a path (containing a /) for a unix socket`,
    written?.span,
  );
}

const LISTEN_ADDRESS = /^(?<host>[\d.]+|\[[^\]]+\]):(?<digits>\d+)$/;
/** A zone other than an interface number, which is the form of Rust's socket addresses. */
const NAMED_ZONE = /%(?!\d+$)/;
const MAX_PORT = 0xffff;

/** Whether only this host can connect. An IPv4-mapped loopback address does not count as local. */
function isLocal(listen: ApiListen): boolean {
  if (listen.kind === 'unix') return true;
  const { host } = listen;
  if (ipVersion(host) === 4) return host.startsWith('127.');
  const bytes = parseIPv6(host.replace(/%.*/, ''));
  return bytes?.every((byte, index) => byte === (index === 15 ? 1 : 0)) ?? false;
}
