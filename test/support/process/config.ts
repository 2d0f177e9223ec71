import { portOf, type Address } from '../data/address.ts';

/** Pieces of configuration files, so that a scenario shows only what it is about. */

/** A SOCKS inbound on a port that the kernel chooses; `more` is added to its table. */
export const socksIn = (tag = 'socks', more = ''): string =>
  `[[inbound]]\ntag = "${tag}"\nprotocol = "socks"\nport = 0\n${more}\n`;

/** An HTTP inbound on a port that the kernel chooses. */
export const httpIn = (tag = 'http', more = ''): string =>
  `[[inbound]]\ntag = "${tag}"\nprotocol = "http"\nport = 0\n${more}\n`;

export const freedom = (tag = 'direct', more = ''): string =>
  `[[outbound]]\ntag = "${tag}"\nprotocol = "freedom"\n${more}\n`;

export const blackhole = (tag = 'block'): string =>
  `[[outbound]]\ntag = "${tag}"\nprotocol = "blackhole"\n`;

/** An outbound through another proxy; `settings` are lines of its settings table. */
export function proxyOut(tag: string, protocol: string, server: Address, settings = ''): string {
  if ('path' in server) throw new Error('an outbound cannot dial a unix socket');
  const upstream = `server = "${server.host}"\nport = ${portOf(server)}\n`;
  const table = settings === '' ? '' : `[outbound.settings]\n${settings}\n`;
  return `[[outbound]]\ntag = "${tag}"\nprotocol = "${protocol}"\n${upstream}${table}\n`;
}

/** A rule; `matchers` is its lines but the outbound. */
export const rule = (outbound: string, matchers: string): string =>
  `[[route.rule]]\noutbound = "${outbound}"\n${matchers}\n`;
