import { addressHint } from '@weir/base/ip';
import { formatIP, parseIP, unmapIPv4 } from '@weir/io/addresses';
import {
  array,
  converted,
  type Decoder,
  disclosed,
  secret,
  str,
  u16,
  u64,
  u8,
} from '../../schema/decoder.ts';
import { DecodeError } from '../../schema/errors.ts';
import { type TableNode, textAt, valueAt } from '../../schema/node.ts';
import { fallback, optional, struct } from '../../schema/struct.ts';
import type { SettingsWarning } from '../protocol.ts';

/** The three bytes that follow the type of a message. */
export type Reserved = readonly [number, number, number];

/** The settings as plain data that can be compared and cloned: keys are lower-case hex digits. */
export interface WireGuardSettings {
  readonly privateKey: string;
  readonly peerPublicKey: string;
  /** The preshared key; `undefined` for none: 32 zeros in the protocol. */
  readonly presharedKey: string | undefined;
  /** The peer's name or address as written, not validated, and its UDP port. */
  readonly endpoint: { readonly host: string; readonly port: number };
  /** The own addresses inside the tunnel, in text; may be empty. */
  readonly addresses: readonly string[];
  /** Bytes of the largest IP packet inside the tunnel, as written; not validated. */
  readonly mtu: number;
  /** Seconds between packets that keep a NAT mapping alive; 0 for none. */
  readonly keepalive: number;
  readonly reserved: Reserved | undefined;
}

/** A cause of silence: a peer rejects an initiation whose timestamp is not later than all before (whitepaper §5.1). */
const OLD_CLOCK = ', or the clock of this machine is behind that of an earlier handshake';

/** Causes of silence of a peer without a session so far: it ignores handshakes with other keys. */
export const causesOfSilence = ({
  presharedKey,
}: Pick<WireGuardSettings, 'presharedKey'>): string =>
  presharedKey === undefined
    ? `private_key or peer_public_key may not be those that the peer expects, or it has a preshared key, which is not set here${OLD_CLOCK}`
    : `private_key, peer_public_key or preshared_key may not be those that the peer expects${OLD_CLOCK}`;

const DEFAULT_MTU = 1420;
const KEY_BYTES = 32;
const HEX_KEY = /^[0-9a-f]{64}$/i;
const PORT = /^\+?[0-9]+$/;
const LAST_PORT = 65_535;

/** Decodes a key as 64 hex digits, or as 32 bytes in padded standard base64. */
const key = (name: string): Decoder<string> =>
  converted(secret, (text, reject) => {
    if (HEX_KEY.test(text)) return text.toLowerCase();
    const bytes = Buffer.from(text, 'base64');
    // Node's decoder is lenient: text that is re-encoded identically was valid.
    if (bytes.length !== KEY_BYTES || bytes.toString('base64') !== text) {
      throw reject(`invalid wireguard ${name}`);
    }
    return bytes.toString('hex');
  });

const endpoint: Decoder<WireGuardSettings['endpoint']> = converted(
  disclosed(str),
  (text, reject) => {
    const colon = text.lastIndexOf(':');
    if (colon < 0) throw reject('wireguard endpoint must be host:port');
    const digits = text.slice(colon + 1);
    const port = PORT.test(digits) ? Number(digits) : Infinity;
    if (port > LAST_PORT) throw reject('invalid wireguard endpoint port');
    return { host: text.slice(0, colon), port };
  },
);

const address: Decoder<string> = converted(disclosed(str), (text, reject) => {
  const bytes = parseIP(text);
  if (!bytes) throw reject('invalid IP address syntax', addressHint(text));
  return unmapIPv4(formatIP(bytes));
});

const reserved: Decoder<Reserved> = (node) => {
  const [first, second, third, ...more] = array(u8)(node);
  if (first !== undefined && second !== undefined && third !== undefined && more.length === 0) {
    return [first, second, third];
  }
  const length = node.kind === 'array' ? node.items.length : 0;
  throw new DecodeError(`invalid length ${length}, expected an array of length 3`, node.span);
};

export const outboundTable = struct(
  {
    privateKey: key('private_key'),
    peerPublicKey: key('peer_public_key'),
    presharedKey: optional(key('preshared_key')),
    endpoint,
    address: array(address),
    mtu: fallback(
      converted(u64, (bytes) => Number(bytes)),
      DEFAULT_MTU,
    ),
    keepalive: fallback(u16, 0),
    reserved: optional(reserved),
  },
  {
    privateKey: 'The own key in base64 or hex',
    peerPublicKey: 'That of the peer',
    presharedKey: 'When the peer has one',
    endpoint: 'host:port of the peer, IPv6 without brackets',
    address: 'Own addresses in the tunnel, without a prefix length',
    mtu: 'Bytes of the largest packet in the tunnel',
    keepalive: 'Seconds; 0 is off',
    reserved: 'Three bytes for the header of every packet',
  },
);

/** Decodes the `settings` of a WireGuard outbound. @throws {DecodeError} */
export function outboundSettings(table: TableNode): WireGuardSettings {
  const { address: addresses, ...written } = outboundTable(table);
  return { ...written, addresses };
}

/** Warnings for values that are accepted although no connection can be made with them. */
export function* outboundWarnings(table: TableNode): Generator<SettingsWarning> {
  const address = valueAt(table, 'address');
  if (address?.kind === 'array' && address.items.length === 0) {
    yield {
      id: 'setting-unusable',
      span: address.span,
      message: 'address is empty: every connection fails',
    };
  }
  const endpoint = valueAt(table, 'endpoint');
  if (endpoint && textAt(table, 'endpoint')?.startsWith('[')) {
    yield {
      id: 'setting-unusable',
      span: endpoint.span,
      message: 'endpoint has brackets, which are taken as part of the name: write it without them',
    };
  }
}
