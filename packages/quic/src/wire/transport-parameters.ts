import { QuicError, TransportErrorCode } from '../errors.ts';
import {
  exceedsStreamCount,
  readVarint,
  TRUNCATED,
  varintSize,
  varintSizeAt,
  writeVarint,
} from './varint.ts';
import { MAX_CONNECTION_ID, RESET_TOKEN_SIZE } from './packet-header.ts';

/** preferred_address: the address of the server to which clients should migrate (RFC 9000 §18.2). */
interface PreferredAddress {
  /** The IPv4 address and port, 4 and 2 bytes; all zero for none. */
  readonly ipv4: Uint8Array;
  readonly ipv4Port: number;
  /** The IPv6 address and port, 16 and 2 bytes; all zero for none. */
  readonly ipv6: Uint8Array;
  readonly ipv6Port: number;
  readonly connectionId: Uint8Array;
  readonly resetToken: Uint8Array;
}

/**
 * Transport parameters (RFC 9000 §18.2, RFC 9221 §3), with the defaults of those that were absent.
 * Limits above 2^53 - 1 are read as 2^53 - 1.
 */
export interface TransportParameters {
  /** The original_destination_connection_id; servers only. */
  readonly originalDestinationConnectionId: Uint8Array | undefined;
  /** The max_idle_timeout in milliseconds; 0 for no limit. */
  readonly maxIdleTimeout: number;
  /** The stateless_reset_token, 16 bytes; servers only. */
  readonly statelessResetToken: Uint8Array | undefined;
  /** The max_udp_payload_size in bytes; at least 1,200. */
  readonly maxUdpPayloadSize: number;
  readonly initialMaxData: number;
  /** The limit for bidirectional streams opened by the sender of the parameters. */
  readonly initialMaxStreamDataBidiLocal: number;
  /** The limit for bidirectional streams opened by the receiver of the parameters. */
  readonly initialMaxStreamDataBidiRemote: number;
  readonly initialMaxStreamDataUni: number;
  readonly initialMaxStreamsBidi: number;
  readonly initialMaxStreamsUni: number;
  /** The ack_delay_exponent, 0 to 20. */
  readonly ackDelayExponent: number;
  /** The max_ack_delay in milliseconds, below 2^14. */
  readonly maxAckDelay: number;
  readonly disableActiveMigration: boolean;
  /** The preferred_address; servers only. */
  readonly preferredAddress: PreferredAddress | undefined;
  /** The active_connection_id_limit; at least 2. */
  readonly activeConnectionIdLimit: number;
  /** The initial_source_connection_id, required of both sides; `undefined` only in `DEFAULT_TRANSPORT_PARAMETERS`. */
  readonly initialSourceConnectionId: Uint8Array | undefined;
  /** The retry_source_connection_id; servers only, after a Retry. */
  readonly retrySourceConnectionId: Uint8Array | undefined;
  /** Bytes of the largest DATAGRAM frame, including its type and length; 0 if not supported. */
  readonly maxDatagramFrameSize: number;
}

/** The values of absent parameters. */
export const DEFAULT_TRANSPORT_PARAMETERS: TransportParameters = {
  originalDestinationConnectionId: undefined,
  maxIdleTimeout: 0,
  statelessResetToken: undefined,
  maxUdpPayloadSize: 65_527,
  initialMaxData: 0,
  initialMaxStreamDataBidiLocal: 0,
  initialMaxStreamDataBidiRemote: 0,
  initialMaxStreamDataUni: 0,
  initialMaxStreamsBidi: 0,
  initialMaxStreamsUni: 0,
  ackDelayExponent: 3,
  maxAckDelay: 25,
  disableActiveMigration: false,
  preferredAddress: undefined,
  activeConnectionIdLimit: 2,
  initialSourceConnectionId: undefined,
  retrySourceConnectionId: undefined,
  maxDatagramFrameSize: 0,
};

type Parameters = { -readonly [Name in keyof TransportParameters]: TransportParameters[Name] };
type NameOf<Value> = {
  [Name in keyof Parameters]: Parameters[Name] extends Value ? Name : never;
}[keyof Parameters];

/** The form of a parameter's value, and its limits (§18.2). */
type Rule =
  | {
      readonly form: 'number';
      readonly name: NameOf<number>;
      readonly least?: number;
      readonly most?: number;
      readonly countsStreams?: true;
    }
  | { readonly form: 'flag'; readonly name: NameOf<boolean> }
  | {
      readonly form: 'bytes';
      readonly name: Exclude<NameOf<Uint8Array | undefined>, 'preferredAddress'>;
      readonly least: number;
      readonly most: number;
      readonly serverOnly?: true;
    }
  | { readonly form: 'address'; readonly serverOnly: true };

/** A connection id, which may be empty. */
const ID = { form: 'bytes', least: 0, most: MAX_CONNECTION_ID } as const;

const RULES: ReadonlyMap<number, Rule> = new Map<number, Rule>([
  [0x00, { ...ID, name: 'originalDestinationConnectionId', serverOnly: true }],
  [0x01, { form: 'number', name: 'maxIdleTimeout' }],
  [
    0x02,
    {
      form: 'bytes',
      name: 'statelessResetToken',
      least: RESET_TOKEN_SIZE,
      most: RESET_TOKEN_SIZE,
      serverOnly: true,
    },
  ],
  [0x03, { form: 'number', name: 'maxUdpPayloadSize', least: 1200 }],
  [0x04, { form: 'number', name: 'initialMaxData' }],
  [0x05, { form: 'number', name: 'initialMaxStreamDataBidiLocal' }],
  [0x06, { form: 'number', name: 'initialMaxStreamDataBidiRemote' }],
  [0x07, { form: 'number', name: 'initialMaxStreamDataUni' }],
  [0x08, { form: 'number', name: 'initialMaxStreamsBidi', countsStreams: true }],
  [0x09, { form: 'number', name: 'initialMaxStreamsUni', countsStreams: true }],
  [0x0a, { form: 'number', name: 'ackDelayExponent', most: 20 }],
  [0x0b, { form: 'number', name: 'maxAckDelay', most: 2 ** 14 - 1 }],
  [0x0c, { form: 'flag', name: 'disableActiveMigration' }],
  [0x0d, { form: 'address', serverOnly: true }],
  [0x0e, { form: 'number', name: 'activeConnectionIdLimit', least: 2 }],
  [0x0f, { ...ID, name: 'initialSourceConnectionId' }],
  [0x10, { ...ID, name: 'retrySourceConnectionId', serverOnly: true }],
  [0x20, { form: 'number', name: 'maxDatagramFrameSize' }],
]);

/** The maximum number of parameters of a peer; there are about 20, and a few reserved ones. */
const MAX_PARAMETERS = 64;

/** Encodes the parameters that differ from the defaults. */
export function encodeTransportParameters(parameters: Partial<TransportParameters>): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const [id, rule] of RULES) {
    const value = encodeValue(rule, parameters);
    if (value === undefined) continue;
    const head = new Uint8Array(varintSize(id) + varintSize(value.length));
    writeVarint(head, writeVarint(head, 0, id), value.length);
    parts.push(head, value);
  }
  return Buffer.concat(parts);
}

function encodeValue(rule: Rule, parameters: Partial<TransportParameters>): Uint8Array | undefined {
  switch (rule.form) {
    case 'number': {
      const value = parameters[rule.name];
      if (value === undefined || value === DEFAULT_TRANSPORT_PARAMETERS[rule.name]) {
        return undefined;
      }
      const bytes = new Uint8Array(varintSize(value));
      writeVarint(bytes, 0, value);
      return bytes;
    }
    case 'flag':
      return parameters[rule.name] === true ? new Uint8Array(0) : undefined;
    case 'bytes':
      return parameters[rule.name];
    case 'address':
      return parameters.preferredAddress && encodeAddress(parameters.preferredAddress);
    default:
      return rule satisfies never;
  }
}

/** Bytes of a preferred address around its connection id. */
const ADDRESS_SIZE = 4 + 2 + 16 + 2 + 1 + RESET_TOKEN_SIZE;

function encodeAddress(address: PreferredAddress): Uint8Array {
  const bytes = Buffer.alloc(ADDRESS_SIZE + address.connectionId.length);
  bytes.set(address.ipv4, 0);
  bytes.writeUInt16BE(address.ipv4Port, 4);
  bytes.set(address.ipv6, 6);
  bytes.writeUInt16BE(address.ipv6Port, 22);
  bytes[24] = address.connectionId.length;
  bytes.set(address.connectionId, 25);
  bytes.set(address.resetToken, 25 + address.connectionId.length);
  return bytes;
}

function decodeAddress(bytes: Uint8Array): PreferredAddress | undefined {
  const idSize = bytes[24] ?? 0;
  // A server that chose an empty connection id MUST NOT send this parameter (§18.2).
  if (idSize < 1 || idSize > MAX_CONNECTION_ID) return undefined;
  if (bytes.length !== ADDRESS_SIZE + idSize) return undefined;
  const port = (at: number): number => ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
  return {
    ipv4: bytes.slice(0, 4),
    ipv4Port: port(4),
    ipv6: bytes.slice(6, 22),
    ipv6Port: port(22),
    connectionId: bytes.slice(25, 25 + idSize),
    resetToken: bytes.slice(25 + idSize),
  };
}

/**
 * Reads and validates the parameters of a peer; unknown ones are ignored. Byte ranges are copied. Required
 * connection ids must be present; the connection must check that they are those of the handshake (§7.3).
 *
 * @param sender the side that sent the parameters.
 * @returns a TRANSPORT_PARAMETER_ERROR for anything invalid.
 */
export function decodeTransportParameters(
  bytes: Uint8Array,
  sender: 'client' | 'server',
): TransportParameters | QuicError {
  const parameters: Parameters = { ...DEFAULT_TRANSPORT_PARAMETERS };
  // Ids above 2^53 cannot be distinguished; only reserved parameters have them.
  const seen = new Set<number>();
  let at = 0;
  for (let count = 0; at < bytes.length; count++) {
    if (count === MAX_PARAMETERS) return invalid('too many transport parameters');
    const id = readVarint(bytes, at, bytes.length);
    if (id === TRUNCATED) return truncated();
    at += varintSizeAt(bytes, at);
    const size = readVarint(bytes, at, bytes.length);
    if (size === TRUNCATED) return truncated();
    at += varintSizeAt(bytes, at);
    if (size > bytes.length - at) return truncated();
    if (seen.has(id)) return invalid(`transport parameter 0x${id.toString(16)} occurs twice`);
    if (Number.isSafeInteger(id)) seen.add(id);
    const rule = RULES.get(id);
    if (rule !== undefined) {
      const fault = decodeValue(rule, bytes.subarray(at, at + size), sender, parameters);
      if (fault !== undefined) return invalid(`transport parameter 0x${id.toString(16)} ${fault}`);
    }
    at += size;
  }
  if (parameters.initialSourceConnectionId === undefined) {
    return invalid('initial_source_connection_id is missing');
  }
  if (sender === 'server' && parameters.originalDestinationConnectionId === undefined) {
    return invalid('original_destination_connection_id is missing');
  }
  if (parameters.preferredAddress && parameters.initialSourceConnectionId.length === 0) {
    return invalid('preferred_address with an empty connection id');
  }
  return parameters;
}

/** Sets one parameter, or returns the reason why it is invalid. */
function decodeValue(
  rule: Rule,
  value: Uint8Array,
  sender: 'client' | 'server',
  parameters: Parameters,
): string | undefined {
  if ('serverOnly' in rule && sender === 'client') return 'is only for servers';
  switch (rule.form) {
    case 'number': {
      const number = readVarint(value, 0, value.length);
      if (number === TRUNCATED || varintSizeAt(value, 0) !== value.length) return 'is no integer';
      if (number < (rule.least ?? 0)) return 'is too small';
      if (number > (rule.most ?? Infinity)) return 'is too large';
      if (rule.countsStreams && exceedsStreamCount(value, 0)) return 'is too large';
      parameters[rule.name] = Math.min(number, Number.MAX_SAFE_INTEGER);
      return undefined;
    }
    case 'flag':
      if (value.length > 0) return 'is not empty';
      parameters[rule.name] = true;
      return undefined;
    case 'bytes':
      if (value.length < rule.least || value.length > rule.most) return 'has a wrong length';
      parameters[rule.name] = Uint8Array.from(value);
      return undefined;
    case 'address':
      parameters.preferredAddress = decodeAddress(Uint8Array.from(value));
      return parameters.preferredAddress ? undefined : 'is no address';
    default:
      return rule satisfies never;
  }
}

const invalid = (reason: string): QuicError =>
  new QuicError(TransportErrorCode.TRANSPORT_PARAMETER_ERROR, reason);

const truncated = (): QuicError => invalid('the transport parameters are truncated');
