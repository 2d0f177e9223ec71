import { isIPv4, isIPv6 } from 'node:net';
import { formatIP, type Endpoint } from '@weir/io/addresses';

/** A destination as a client names it: by an address, or by a name of any bytes. */
export interface Target {
  readonly host: string | { readonly name: Buffer };
  readonly port: number;
}

/** RFC 1928 §5 for SOCKS5, Trojan and Shadowsocks; the rest has its own types, and the port first. */
const FORMATS = {
  socks: { ipv4: 1, name: 3, ipv6: 4 },
  v2ray: { ipv4: 1, name: 2, ipv6: 3 },
} as const;

/** An address field, written apart from Weir's own encoder. */
export function addressField({ host, port }: Target, format: keyof typeof FORMATS): Buffer {
  const { ipv4, name, ipv6 } = FORMATS[format];
  const ports = Buffer.of(port >> 8, port & 0xff);
  const field = ((): Buffer => {
    if (typeof host === 'string' && isIPv4(host))
      return Buffer.of(ipv4, ...host.split('.').map(Number));
    if (typeof host === 'string' && isIPv6(host)) return Buffer.of(ipv6, ...groupsOf(host));
    const bytes = typeof host === 'string' ? Buffer.from(host) : host.name;
    return Buffer.concat([Buffer.of(name, bytes.length), bytes]);
  })();
  return Buffer.concat(format === 'v2ray' ? [ports, field] : [field, ports]);
}

function groupsOf(address: string): number[] {
  const [head = '', tail = ''] = address.split('::');
  const numbers = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const before = numbers(head);
  const after = numbers(tail);
  const middle = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...middle, ...after].flatMap((group) => [group >> 8, group & 0xff]);
}

/** A complete address field of SOCKS5 with an address, as servers write it. */
export function decodeSocksAddress(
  bytes: Buffer,
  at: number,
): { readonly endpoint: Endpoint; readonly end: number } {
  const type = bytes[at];
  if (type === FORMATS.socks.name) {
    const end = at + 2 + bytes.readUInt8(at + 1);
    return {
      endpoint: { host: bytes.toString('utf8', at + 2, end), port: bytes.readUInt16BE(end) },
      end: end + 2,
    };
  }
  const end = at + 1 + (type === FORMATS.socks.ipv4 ? 4 : 16);
  const host = formatIP(bytes.subarray(at + 1, end));
  return { endpoint: { host, port: bytes.readUInt16BE(end) }, end: end + 2 };
}
