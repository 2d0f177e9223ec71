import { isIPv4, isIPv6 } from 'node:net';
import { inspect } from 'node:util';
import { WeirError } from '../errors.ts';
import { parseIPv6 } from '../net/address.ts';

/** Where the API listens when `[api]` does not say. */
export const DEFAULT_API_LISTEN = '127.0.0.1:9090';

/** Where the API listens; `text` is what the configuration says, for log lines and errors. */
export type ApiListen =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly text: string }
  | { readonly kind: 'unix'; readonly path: string; readonly text: string };

/** The keys of `[api]` as the file has them. */
export interface ApiTable {
  readonly listen?: string | undefined;
  readonly secret?: string | undefined;
}

/** An `[api]` that is well-formed and refused all the same. */
export class ApiTableError extends WeirError {
  constructor(message: string) {
    super('config_invalid', `[api] ${message}`);
  }
}

/** What `[api]` asks for. Printed or serialised in any way, it keeps the secret to itself. */
export class ApiOptions {
  readonly listen: ApiListen;
  readonly #secret: string | undefined;

  constructor(listen: ApiListen, secret: string | undefined) {
    this.listen = listen;
    this.#secret = secret;
  }

  /** The bearer token that every request must carry; `undefined` when anyone may ask. */
  get secret(): string | undefined {
    return this.#secret;
  }

  /** Whether a listener that serves `other` would do for these, too. */
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
 * Checks `[api]`, in this order: the form of `listen`, an empty secret, an address that other hosts
 * reach without a secret.
 *
 * @throws {ApiTableError}
 */
export function checkApi(table: ApiTable): ApiOptions {
  const listen = parseApiListen(table.listen ?? DEFAULT_API_LISTEN);
  const { secret } = table;
  if (secret === '') throw new ApiTableError('secret is empty');
  if (secret === undefined && !isLocal(listen)) {
    throw new ApiTableError(
      `listen ${listen.text}: an API reachable from other hosts needs a secret; listen on a loopback address or a unix socket, or set one`,
    );
  }
  return new ApiOptions(listen, secret);
}

function parseApiListen(text: string): ApiListen {
  if (text.includes('/')) return { kind: 'unix', path: text, text };
  const { host = '', digits = '' } = LISTEN_ADDRESS.exec(text)?.groups ?? {};
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  const valid = bare === host ? isIPv4(host) : isIPv6(bare) && !NAMED_ZONE.test(bare);
  const port = Number(digits);
  if (valid && port <= MAX_PORT) return { kind: 'tcp', host: bare, port, text };
  throw new ApiTableError(
    `listen ${JSON.stringify(text)}: expected ip:port, or a path (containing a /) for a unix socket`,
  );
}

const LISTEN_ADDRESS = /^(?<host>[\d.]+|\[[^\]]+\]):(?<digits>\d+)$/;
/** Interfaces are given by number, as in Rust's socket addresses. */
const NAMED_ZONE = /%(?!\d+$)/;
const MAX_PORT = 0xffff;

/** Whether only this host can connect. An IPv4-mapped address is not taken for the IPv4 one. */
function isLocal(listen: ApiListen): boolean {
  if (listen.kind === 'unix') return true;
  const { host } = listen;
  if (isIPv4(host)) return host.startsWith('127.');
  const bytes = parseIPv6(host.replace(/%.*/, ''));
  return bytes?.every((byte, index) => byte === (index === 15 ? 1 : 0)) ?? false;
}
