import type { Endpoint } from '../../net/address.ts';
import { ProtocolError } from '../../net/errors.ts';
import type { AccountTable } from './account-table.ts';
import type { Conversation } from './handshake.ts';
import { readAddress } from './read-address.ts';
import { SocksRefusal } from './refusal.ts';
import {
  AUTH_VERSION,
  AuthStatus,
  Command,
  encodeAuthStatus,
  encodeMethodChoice,
  encodeReply,
  Method,
  Reply,
  SOCKS5,
} from './wire.ts';

/** What a SOCKS5 client asks for, once it was let in. */
export interface Socks5Request {
  readonly command: 'connect' | 'associate';
  /** Where to, or for `associate` where the client says its datagrams come from. */
  readonly address: Endpoint;
  /** Name of the account; `undefined` without authentication. */
  readonly user: string | undefined;
}

/**
 * Reads a SOCKS5 conversation after the first version octet, up to the request.
 *
 * @param accounts who may come in; `undefined` lets everybody in.
 * @throws {SocksRefusal} with the answer to give.
 */
export async function readSocks5(
  conversation: Conversation,
  accounts: AccountTable | undefined,
): Promise<Socks5Request> {
  await chooseMethod(conversation, accounts ? Method.password : Method.none);
  const user = accounts && (await authenticate(conversation, accounts));
  const { command, address } = await readRequest(conversation);
  return { command, address, user };
}

/** RFC 1928 §3: the one method that this inbound has must be among those that the client offers. */
async function chooseMethod({ reader, say }: Conversation, method: Method): Promise<void> {
  const offered = await reader.bytes(await reader.byte());
  if (!offered.includes(method)) {
    throw new SocksRefusal(
      encodeMethodChoice(Method.unacceptable),
      method === Method.password
        ? 'the client does not offer password authentication'
        : 'the client insists on authentication',
    );
  }
  await say(encodeMethodChoice(method));
}

/** RFC 1929 §2. */
async function authenticate(
  { reader, say }: Conversation,
  accounts: AccountTable,
): Promise<string> {
  const version = await reader.byte();
  if (version !== AUTH_VERSION) {
    throw new ProtocolError(`version ${version} of password authentication is unknown`);
  }
  const name = await reader.bytes(await reader.byte());
  const pass = await reader.bytes(await reader.byte());
  const user = accounts.authenticate(name, pass);
  if (user === undefined) {
    throw new SocksRefusal(encodeAuthStatus(AuthStatus.failure), 'user name or password is wrong');
  }
  await say(encodeAuthStatus(AuthStatus.success));
  return user;
}

/** RFC 1928 §4. */
async function readRequest({
  reader,
}: Conversation): Promise<Pick<Socks5Request, 'command' | 'address'>> {
  const [version, code] = await reader.bytes(3);
  if (version !== SOCKS5) throw new ProtocolError(`a request of SOCKS version ${version}`);
  const field = await readAddress(reader);
  const command = commandOf(code);
  if (command === undefined) {
    throw refusal(Reply.commandUnsupported, `SOCKS command ${code} is not supported`);
  }
  if (field.kind === 'unknown_type') {
    throw refusal(Reply.addressUnsupported, `address type ${field.type} is unknown`);
  }
  if (field.kind === 'bad_name') {
    throw refusal(Reply.failure, 'the host name is empty or has bytes of no name');
  }
  return { command, address: field.endpoint };
}

function commandOf(code: number | undefined): Socks5Request['command'] | undefined {
  if (code === Command.connect) return 'connect';
  return code === Command.associate ? 'associate' : undefined;
}

const refusal = (reply: Reply, message: string): SocksRefusal =>
  new SocksRefusal(encodeReply(SOCKS5, reply), message);
