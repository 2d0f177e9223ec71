import type { Endpoint } from '../../net/address.ts';
import { decodeName } from '../../net/host-name.ts';

const HOST_AND_PORT = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/s;

/**
 * Reads the `host:port` of a request or a UDP message, with IPv6 in brackets. `undefined` for what
 * cannot be a destination.
 */
export function parseAddress(text: string): Endpoint | undefined {
  const [, written = '', digits = ''] = HOST_AND_PORT.exec(text) ?? [];
  const port = Number(digits);
  const host = decodeName(Buffer.from(written));
  if (host === undefined || port === 0 || port > 0xffff) return undefined;
  return { host, port };
}
