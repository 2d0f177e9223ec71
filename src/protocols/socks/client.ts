import { DialError, ProtocolError } from '../../net/errors.ts';
import { formatEndpoint, type Endpoint } from '../../net/address.ts';
import type { Conversation } from './handshake.ts';
import { readAddress } from './read-address.ts';
import { meaningOf } from './replies.ts';
import type { SocksOutboundSettings } from './settings.ts';
import {
  AUTH_VERSION,
  AuthStatus,
  Command,
  encodeCredentials,
  encodeOffer,
  encodeRequest,
  Method,
  Reply,
  SOCKS5,
} from './wire.ts';

/** A request as bytes, with the text that errors call its destination by. */
export interface ClientRequest {
  readonly message: Uint8Array;
  readonly target: string;
}

/**
 * Makes a request.
 * @throws {DialError} when the host name has more than the 255 bytes that fit.
 */
export function makeRequest(command: Command, destination: Endpoint): ClientRequest {
  const message = encodeRequest(command, destination);
  const target = command === Command.connect ? formatEndpoint(destination) : 'UDP ASSOCIATE';
  if (message) return { message, target };
  throw new DialError('failed', 'the host name does not fit into a SOCKS request (255 bytes)');
}

/**
 * Asks a SOCKS5 server and gives the address of its reply; `undefined` when it is a bad name.
 *
 * Each message waits for the answer to the one before: there are servers that take whatever one
 * read gives them for one message.
 *
 * @throws {DialError} with the server's reason.
 * @throws {ProtocolError} when the server does not speak SOCKS5.
 */
export async function ask(
  conversation: Conversation,
  { account }: SocksOutboundSettings,
  { message, target }: ClientRequest,
): Promise<Endpoint | undefined> {
  await offer(conversation, account ? Method.password : Method.none);
  if (account) await authenticate(conversation, account);
  await conversation.say(message);
  return readReply(conversation, target);
}

/** RFC 1928 §3. */
async function offer({ reader, say }: Conversation, method: Method): Promise<void> {
  await say(encodeOffer(method));
  const version = await reader.byte();
  if (version !== SOCKS5) throw new ProtocolError('the server does not speak SOCKS5');
  if ((await reader.byte()) === method) return;
  throw new DialError(
    'upstream',
    method === Method.password
      ? 'the SOCKS server does not take password authentication'
      : 'the SOCKS server asks for authentication',
  );
}

/** RFC 1929 §2. */
async function authenticate(
  { reader, say }: Conversation,
  { user, pass }: { readonly user: string; readonly pass: string },
): Promise<void> {
  await say(encodeCredentials(user, pass));
  const [version, status] = await reader.bytes(2);
  if (version !== AUTH_VERSION) {
    throw new ProtocolError('the SOCKS server breaks off the password authentication');
  }
  if (status !== AuthStatus.success) {
    throw new DialError('upstream', 'the SOCKS server refuses the user name or password');
  }
}

/** RFC 1928 §6. */
async function readReply({ reader }: Conversation, target: string): Promise<Endpoint | undefined> {
  const [version, reply] = await reader.bytes(3);
  if (version !== SOCKS5) throw new ProtocolError('the SOCKS server breaks off the request');
  if (reply !== Reply.succeeded) {
    // Some servers say no more than this and close, so nothing is read after a refusal.
    const { code, text } = meaningOf(reply ?? Reply.failure);
    throw new DialError(code, `the SOCKS server answers for ${target}: ${text}`);
  }
  const bound = await readAddress(reader);
  if (bound.kind === 'unknown_type') {
    throw new ProtocolError(`the SOCKS server answers with address type ${bound.type}`);
  }
  return bound.kind === 'endpoint' ? bound.endpoint : undefined;
}
