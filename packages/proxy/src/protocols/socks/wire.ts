import { decodeHost, encodeAddressField, type Endpoint, SOCKS_ADDRESS } from '@weir/io/addresses';
import { DialError, type DialErrorCode } from '@weir/io';
import { BoundedReader, type ByteLink } from '@weir/io/links';
import { WeirError } from '@weir/base';
import { abortReason, type Clock, Deadline, HANDSHAKE_MS } from '@weir/io/time';

/*
 * The messages of SOCKS4, SOCKS4a, SOCKS5 (RFC 1928) and its username/password authentication
 * (RFC 1929) as bytes. `inbound.ts` and `outbound.ts` read them; the header of datagrams
 * is in `association.ts`.
 */

/** The address in a request or reply if none is known. */
export const UNSPECIFIED: Endpoint = { host: '0.0.0.0', port: 0 };

/** Encodes a message of `prefix` and an address field; `undefined` when the host or port does not fit. */
export const encodeAddressed = (
  prefix: readonly number[],
  endpoint: Endpoint,
): Buffer | undefined => encodeAddressField(endpoint, SOCKS_ADDRESS, prefix);

/** An address field of a request or reply: each defect has a reply of its own. */
type SocksAddress =
  | { readonly kind: 'unknown_type'; readonly type: number }
  | { readonly kind: 'invalid_name' }
  | { readonly kind: 'endpoint'; readonly endpoint: Endpoint };

/** Reads type, address and port (RFC 1928 §5). After an unknown type nothing more can be read. */
export async function readAddress(reader: BoundedReader): Promise<SocksAddress> {
  const type = await reader.byte();
  const length = await lengthOf(type, reader);
  if (length === undefined) return { kind: 'unknown_type', type };
  const bytes = await reader.bytes(length + 2);
  const host = decodeHost(type, bytes.subarray(0, length), SOCKS_ADDRESS);
  if (host === undefined) return { kind: 'invalid_name' };
  return { kind: 'endpoint', endpoint: { host, port: bytes.readUInt16BE(length) } };
}

async function lengthOf(type: number, reader: BoundedReader): Promise<number | undefined> {
  switch (type) {
    case SOCKS_ADDRESS.ipv4:
      return 4;
    case SOCKS_ADDRESS.ipv6:
      return 16;
    case SOCKS_ADDRESS.name:
      return reader.byte();
    default:
      return undefined;
  }
}

export const SOCKS4 = 4;
export const SOCKS5 = 5;
export type SocksVersion = typeof SOCKS4 | typeof SOCKS5;

/** Authentication methods (RFC 1928 §3). */
export const Method = { none: 0x00, password: 0x02, unacceptable: 0xff } as const;
export type Method = (typeof Method)[keyof typeof Method];

/** Version and statuses of the username/password exchange (RFC 1929 §2). */
export const AUTH_VERSION = 1;
export const AuthStatus = { success: 0, failure: 1 } as const;
export type AuthStatus = (typeof AuthStatus)[keyof typeof AuthStatus];

/** Commands; SOCKS4 has the first two (RFC 1928 §4). */
export const Command = { connect: 1, bind: 2, associate: 3 } as const;
export type Command = (typeof Command)[keyof typeof Command];

/** Reply codes (RFC 1928 §6). */
export const Reply = {
  succeeded: 0x00,
  failure: 0x01,
  notAllowed: 0x02,
  networkUnreachable: 0x03,
  hostUnreachable: 0x04,
  refused: 0x05,
  ttlExpired: 0x06,
  commandUnsupported: 0x07,
  addressUnsupported: 0x08,
} as const;
export type Reply = (typeof Reply)[keyof typeof Reply];

/** The two SOCKS4 replies of a server that does not use identd. */
const GRANTED = 0x5a;
const REJECTED = 0x5b;

/** Encodes the server's choice of a method (RFC 1928 §3). */
export const encodeMethodChoice = (method: Method): Uint8Array => Uint8Array.of(SOCKS5, method);

/** Encodes the server's response to a user name and password (RFC 1929 §2). */
export const encodeAuthStatus = (status: AuthStatus): Uint8Array =>
  Uint8Array.of(AUTH_VERSION, status);

/** Encodes the reply to a request. SOCKS4 distinguishes success and failure only. */
export function encodeReply(
  version: SocksVersion,
  reply: Reply,
  bound: Endpoint = UNSPECIFIED,
): Uint8Array {
  if (version === SOCKS4) {
    return Uint8Array.of(0, reply === Reply.succeeded ? GRANTED : REJECTED, 0, 0, 0, 0, 0, 0);
  }
  const message = encodeAddressed([SOCKS5, reply, 0], bound);
  if (!message) throw new RangeError('the bound address of a reply is not an address');
  return message;
}

/** Encodes a client's offer of exactly one method (RFC 1928 §3). */
export const encodeOffer = (method: Method): Uint8Array => Uint8Array.of(SOCKS5, 1, method);

/** Encodes a client's user name and password, each truncated to 255 bytes (RFC 1929 §2). */
export function encodeCredentials(user: string, pass: string): Uint8Array {
  const name = Buffer.from(user, 'utf8').subarray(0, 255);
  const word = Buffer.from(pass, 'utf8').subarray(0, 255);
  return Buffer.concat([Buffer.of(AUTH_VERSION, name.length), name, Buffer.of(word.length), word]);
}

/** A client's request (RFC 1928 §4); `undefined` when the host does not fit into it. */
export const encodeRequest = (command: Command, destination: Endpoint): Uint8Array | undefined =>
  encodeAddressed([SOCKS5, command, 0], destination);

/**
 * The reply for a destination that was not reached. RFC 1928 has no code for a timeout; Tor and
 * Dante use 0x06.
 */
const REPLY_OF: Readonly<Record<DialErrorCode, Reply>> = {
  refused: Reply.refused,
  unreachable_host: Reply.hostUnreachable,
  unreachable_network: Reply.networkUnreachable,
  not_found: Reply.hostUnreachable,
  unresolved: Reply.hostUnreachable,
  timed_out: Reply.ttlExpired,
  blocked: Reply.notAllowed,
  forbidden: Reply.notAllowed,
  loop: Reply.notAllowed,
  unsupported: Reply.commandUnsupported,
  upstream: Reply.failure,
  unknown_outbound: Reply.failure,
  aborted: Reply.failure,
  failed: Reply.failure,
};

/** Returns the reply to a request that failed. */
export const replyOf = (error: unknown): Reply =>
  error instanceof DialError ? REPLY_OF[error.code] : Reply.failure;

interface Meaning {
  readonly code: DialErrorCode;
  readonly text: string;
}

/** The meaning of a server's reply: the reverse of the replies to clients. */
const MEANINGS: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [Reply.failure, { code: 'upstream', text: 'general failure' }],
  [Reply.notAllowed, { code: 'blocked', text: 'not allowed by its rules' }],
  [Reply.networkUnreachable, { code: 'unreachable_network', text: 'network unreachable' }],
  [Reply.hostUnreachable, { code: 'unreachable_host', text: 'host unreachable' }],
  [Reply.refused, { code: 'refused', text: 'connection refused' }],
  [Reply.ttlExpired, { code: 'timed_out', text: 'timed out' }],
  [Reply.commandUnsupported, { code: 'unsupported', text: 'command not supported' }],
  [Reply.addressUnsupported, { code: 'upstream', text: 'address type not supported' }],
]);

/** Returns the meaning of any reply but success. */
export const meaningOf = (reply: number): Meaning =>
  MEANINGS.get(reply) ?? {
    code: 'upstream',
    text: `reply 0x${reply.toString(16).padStart(2, '0')}`,
  };

/** Room for the longest message: a user name and a password of 255 bytes each. */
const HANDSHAKE_BYTES = 1024;

/** One side of a handshake: reads the peer's messages and sends its own. */
export interface SocksHandshake {
  readonly reader: BoundedReader;
  /** Sends one message; waits for back-pressure. */
  readonly send: (message: Uint8Array) => Promise<void>;
}

/**
 * Runs a handshake on `link` under one time limit. At the limit, or when `parent` aborts, the link
 * is destroyed and pending operations reject with the reason. Bytes after the handshake are put
 * back into the link.
 */
export async function runHandshake<T>(
  link: ByteLink,
  clock: Clock,
  run: (handshake: SocksHandshake) => Promise<T>,
  parent?: AbortSignal,
): Promise<T> {
  using deadline = new Deadline(clock, HANDSHAKE_MS, 'the SOCKS handshake', parent);
  const { signal } = deadline;
  const onAbort = (): void => link.destroy(abortReason(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  const reader = new BoundedReader(link, HANDSHAKE_BYTES, signal);
  try {
    const result = await run({
      reader,
      send: async (message) => {
        await link.write(message);
      },
    });
    reader.release();
    return result;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * The error of a client that is rejected with a reply of its protocol; the cause is a RejectedClientError if the client
 * is unauthenticated.
 */
export class SocksRejection extends WeirError {
  /** The reply to send before the connection is closed. */
  readonly reply: Uint8Array;

  constructor(reply: Uint8Array, message: string, options?: ErrorOptions) {
    super('socks_rejected', message, options);
    this.reply = reply;
  }
}
