import { shownEndpoint } from '../../net/addresses/shown-address.ts';
import type { Endpoint } from '../../net/addresses/address.ts';
import { DialError, ProtocolError } from '../../net/errors.ts';
import type { Account } from '../users/account-table.ts';
import { readAddress } from './address.ts';
import type { SocksHandshake } from './handshake.ts';
import {
  AUTH_VERSION,
  AuthStatus,
  Command,
  encodeCredentials,
  encodeOffer,
  encodeRequest,
  meaningOf,
  Method,
  Reply,
  SOCKS5,
} from './wire.ts';

/** A request as bytes, with the name of its destination for error messages. */
export interface ClientRequest {
  readonly message: Uint8Array;
  readonly target: string;
}

/**
 * Encodes a request.
 * @throws {DialError} when the host name has more than the 255 bytes that fit.
 */
export function makeRequest(command: Command, destination: Endpoint): ClientRequest {
  const message = encodeRequest(command, destination);
  const target = command === Command.connect ? shownEndpoint(destination) : 'UDP ASSOCIATE';
  if (message) return { message, target };
  throw new DialError('failed', 'the host name does not fit into a SOCKS request (255 bytes)');
}

/**
 * Sends a request to a SOCKS5 server and returns the address in its reply; `undefined` for an invalid name.
 *
 * Each message is sent after the reply to the previous one: some servers treat the bytes of one read as one message.
 *
 * @param onAccepted called when the server is ready for the request.
 * @throws {DialError} with the server's reason.
 * @throws {ProtocolError} for a server of another protocol.
 */
export async function requestFromServer(
  handshake: SocksHandshake,
  account: Account | undefined,
  { message, target }: ClientRequest,
  onAccepted?: () => void,
): Promise<Endpoint | undefined> {
  await offerMethod(handshake, account ? Method.password : Method.none);
  if (account) await authenticate(handshake, account);
  onAccepted?.();
  await handshake.send(message);
  return readReply(handshake, target);
}

/** Negotiates the authentication method (RFC 1928 §3). */
async function offerMethod({ reader, send }: SocksHandshake, method: Method): Promise<void> {
  await send(encodeOffer(method));
  const version = await reader.byte();
  if (version !== SOCKS5) throw new ProtocolError('the server does not speak SOCKS5');
  if ((await reader.byte()) === method) return;
  throw new DialError(
    'upstream',
    method === Method.password
      ? 'the SOCKS server does not support password authentication'
      : 'the SOCKS server requires authentication',
  );
}

/** Authenticates with a user name and a password (RFC 1929 §2). */
async function authenticate(
  { reader, send }: SocksHandshake,
  { user, pass }: Account,
): Promise<void> {
  await send(encodeCredentials(user, pass));
  const [version, status] = await reader.bytes(2);
  if (version !== AUTH_VERSION) {
    throw new ProtocolError('invalid response of the SOCKS server to password authentication');
  }
  if (status !== AuthStatus.success) {
    throw new DialError('upstream', 'the SOCKS server rejected the user name or password');
  }
}

/** Reads the reply to a request (RFC 1928 §6). */
async function readReply(
  { reader }: SocksHandshake,
  target: string,
): Promise<Endpoint | undefined> {
  const [version, reply] = await reader.bytes(3);
  if (version !== SOCKS5) throw new ProtocolError('invalid reply of the SOCKS server');
  if (reply !== Reply.succeeded) {
    // Some servers close after these octets, so nothing more is read after a failure.
    const { code, text } = meaningOf(reply ?? Reply.failure);
    throw new DialError(code, `reply of the SOCKS server for ${target}: ${text}`);
  }
  const bound = await readAddress(reader);
  if (bound.kind === 'unknown_type') {
    throw new ProtocolError(`unknown address type ${bound.type} in the reply of the SOCKS server`);
  }
  return bound.kind === 'endpoint' ? bound.endpoint : undefined;
}
