import { decodeName, type Endpoint, formatIP, unmapIPv4 } from '@weir/io/addresses';
import { type BoundedReader, type ByteLink, type Carrier, closeGracefully } from '@weir/io/links';
import { DialError, ProtocolError } from '@weir/io';
import type { Steps } from '@weir/io/time';
import { AccountTable } from '../users/account-table.ts';
import { authorizeClient, type SentCredentials } from '../inbounds/authorize.ts';
import { logAcceptFailure, logRejection, RejectedClientError } from '../inbounds/handshake.ts';
import { HookError } from '../hooks.ts';
import { type AcceptedAccounts, type AuthenticatedUser, OPEN_TO_ALL } from '../users/accounts.ts';
import {
  AUTH_VERSION,
  AuthStatus,
  Command,
  encodeAuthStatus,
  encodeMethodChoice,
  encodeReply,
  Method,
  readAddress,
  Reply,
  replyOf,
  runHandshake,
  SOCKS4,
  SOCKS5,
  type SocksHandshake,
  SocksRejection,
  type SocksVersion,
} from './wire.ts';
import type { Session } from '../../tracker/flow.ts';
import type { InboundContext, InboundHandler, Origin } from '../contract.ts';
import { originOf } from '../inbounds/serve-flows.ts';
import { planRelay, serveAssociation } from './association.ts';
import type { SocksInboundSettings } from './settings.ts';

/** A client's request, in either version of the protocol. */
export interface SocksRequest {
  readonly version: SocksVersion;
  readonly command: 'connect' | 'associate';
  /** The destination, or for `associate` the address that the client will send datagrams from. */
  readonly address: Endpoint;
  readonly user: AuthenticatedUser;
}

/** Asks the host program about a client that the accounts accept; `undefined` for a refusal. */
type Authorize = (
  user: AuthenticatedUser,
  sent?: SentCredentials,
) => AuthenticatedUser | undefined | Promise<AuthenticatedUser | undefined>;

/**
 * Serves a client's handshake up to its request.
 *
 * @param accounts `undefined` for an inbound without authentication.
 * @param authorize `undefined` if the accounts decide alone; otherwise clients without a password are asked about too,
 * where there are no accounts, and those that offer one are asked for it.
 * @throws {SocksRejection} with the reply to send.
 * @throws {ProtocolError} for a client of another protocol.
 */
export async function readSocksRequest(
  handshake: SocksHandshake,
  accounts: AccountTable | undefined,
  authorize?: Authorize,
): Promise<SocksRequest> {
  const version = await handshake.reader.byte();
  switch (version) {
    case SOCKS4: {
      if (accounts) {
        throw unauthenticated(
          encodeReply(SOCKS4, Reply.failure),
          'SOCKS4 does not support password authentication',
        );
      }
      const address = await readSocks4(handshake.reader);
      const refusal = encodeReply(SOCKS4, Reply.failure);
      const user = await authorized(authorize, refusal, OPEN_TO_ALL);
      return { version, command: 'connect', address, user };
    }
    case SOCKS5: {
      const user = await readSocks5User(handshake, accounts, authorize);
      return { version, ...(await readSocks5(handshake.reader)), user };
    }
    default:
      throw new ProtocolError(`not a SOCKS client: its first octet is ${version}`);
  }
}

const NUL = Uint8Array.of(0);
const MAX_TEXT = 255;

/** Reads a SOCKS4 or SOCKS4a request after the version octet. The user id is not authenticated, so it is ignored. */
async function readSocks4(reader: BoundedReader): Promise<Endpoint> {
  const head = await reader.bytes(7);
  const command = head.readUInt8(0);
  const port = head.readUInt16BE(1);
  const address = head.subarray(3);
  await readText(reader, 'user id');
  const host = isNameMarker(address)
    ? decodeName(await readText(reader, 'host name'))
    : formatIP(address);
  if (command !== Command.connect) {
    throw rejection(SOCKS4, Reply.failure, `SOCKS4 command ${command} is not supported`);
  }
  if (host === undefined) {
    throw rejection(SOCKS4, Reply.failure, 'the SOCKS4a host name is empty or invalid');
  }
  return { host, port };
}

/** Whether an address is 0.0.0.x, with x other than 0: in SOCKS4a a host name follows. */
function isNameMarker(address: Uint8Array): boolean {
  return address[0] === 0 && address[1] === 0 && address[2] === 0 && address[3] !== 0;
}

async function readText(reader: BoundedReader, what: string): Promise<Buffer> {
  const text = await reader.until(NUL);
  // The reader's own limit does not apply to a text that was received in one piece.
  if (text.length > MAX_TEXT) throw new ProtocolError(`the ${what} is longer than 255 bytes`);
  return text;
}

/** Chooses the method, and authenticates the client by it. */
async function readSocks5User(
  handshake: SocksHandshake,
  accounts: AccountTable | undefined,
  authorize: Authorize | undefined,
): Promise<AuthenticatedUser> {
  const { reader, send } = handshake;
  const offered = await reader.bytes(await reader.byte());
  const withPassword = accounts || (authorize && offered.includes(Method.password));
  const method = withPassword ? Method.password : Method.none;
  checkOffered(offered, method);
  const refusal = encodeMethodChoice(Method.unacceptable);
  // Without a password the method is the only place for a refusal.
  const user = withPassword ? undefined : await authorized(authorize, refusal, OPEN_TO_ALL);
  await send(encodeMethodChoice(method));
  return user ?? authenticate(handshake, accounts, authorize);
}

/**
 * Asks the host program about a client.
 * @param refusal the reply to a client that is refused
 */
async function authorized(
  authorize: Authorize | undefined,
  refusal: Uint8Array,
  account: AuthenticatedUser,
  sent?: SentCredentials,
): Promise<AuthenticatedUser> {
  if (!authorize) return account;
  let user: AuthenticatedUser | undefined;
  try {
    user = await authorize(account, sent);
  } catch (error) {
    if (!(error instanceof HookError)) throw error;
    throw new SocksRejection(refusal, error.message, { cause: error });
  }
  if (user === undefined) throw unauthenticated(refusal, 'refused by the authorize hook');
  return user;
}

/** Checks that the client offers the method that this inbound requires (RFC 1928 §3). */
function checkOffered(offered: Uint8Array, method: Method): void {
  if (!offered.includes(method)) {
    throw unauthenticated(
      encodeMethodChoice(Method.unacceptable),
      method === Method.password
        ? 'the client does not offer password authentication'
        : 'the client requires authentication',
    );
  }
}

/** Authenticates a client by user name and password (RFC 1929 §2). */
async function authenticate(
  { reader, send }: SocksHandshake,
  accounts: AccountTable | undefined,
  authorize: Authorize | undefined,
): Promise<AuthenticatedUser> {
  const version = await reader.byte();
  if (version !== AUTH_VERSION) {
    throw new ProtocolError(`unknown version ${version} of password authentication`);
  }
  const name = await reader.bytes(await reader.byte());
  const pass = await reader.bytes(await reader.byte());
  const account = accounts ? accounts.authenticate(name, pass) : OPEN_TO_ALL;
  const refusal = encodeAuthStatus(AuthStatus.failure);
  if (account === undefined) throw unauthenticated(refusal, 'wrong user name or password');
  const user = await authorized(authorize, refusal, account, { user: name, pass });
  await send(encodeAuthStatus(AuthStatus.success));
  return user;
}

/** Reads a SOCKS5 request (RFC 1928 §4). */
async function readSocks5(
  reader: BoundedReader,
): Promise<Pick<SocksRequest, 'command' | 'address'>> {
  const [version, code] = await reader.bytes(3);
  if (version !== SOCKS5) throw new ProtocolError(`a request of SOCKS version ${version}`);
  const address = await readAddress(reader);
  const command = commandOf(code);
  if (command === undefined) {
    throw rejection(SOCKS5, Reply.commandUnsupported, `SOCKS command ${code} is not supported`);
  }
  if (address.kind === 'unknown_type') {
    throw rejection(SOCKS5, Reply.addressUnsupported, `unknown address type ${address.type}`);
  }
  if (address.kind === 'invalid_name') {
    throw rejection(SOCKS5, Reply.failure, 'the host name is empty or invalid');
  }
  return { command, address: address.endpoint };
}

function commandOf(code: number | undefined): SocksRequest['command'] | undefined {
  if (code === Command.connect) return 'connect';
  return code === Command.associate ? 'associate' : undefined;
}

const unauthenticated = (reply: Uint8Array, message: string): SocksRejection =>
  new SocksRejection(reply, message, { cause: new RejectedClientError(message) });

const rejection = (version: SocksVersion, reply: Reply, message: string): SocksRejection =>
  new SocksRejection(encodeReply(version, reply), message);

/** Builds the table of accounts; `undefined` for a server that is open to all. */
export function* socksAccounts({
  auth,
  accounts,
}: SocksInboundSettings): Steps<AccountTable | undefined> {
  return auth === 'password' ? yield* AccountTable.of(accounts) : undefined;
}

/** A SOCKS4, SOCKS4a and SOCKS5 server on accepted carriers. */
export class SocksInbound implements InboundHandler {
  readonly #settings: SocksInboundSettings;
  readonly #context: InboundContext;
  readonly #accounts: AccountTable | undefined;

  constructor(
    accounts: AccountTable | undefined,
    context: InboundContext,
    settings: SocksInboundSettings,
  ) {
    this.#settings = settings;
    this.#context = context;
    this.#accounts = accounts;
  }

  get accounts(): AcceptedAccounts {
    return this.#accounts ?? OPEN_TO_ALL;
  }

  async serve(carrier: Carrier, session: Session): Promise<void> {
    const { clock } = this.#context;
    const { link, remote } = carrier;
    const source = remote && unmapIPv4(remote.host);
    try {
      const context = this.#context;
      const authorize: Authorize | undefined = context.hooks?.authorize
        ? (user, sent) => authorizeClient(context, { user, sent, source, link })
        : undefined;
      const request = await runHandshake(link, clock, (handshake) =>
        readSocksRequest(handshake, this.#accounts, authorize),
      );
      const origin = originOf(this.#context, source, session, request.user);
      // Not awaited: that would keep this frame in memory for the lifetime of the flow, and it throws no rejection.
      // oxlint-disable-next-line typescript/return-await
      if (request.command === 'connect') return this.#connect(request, link, origin);
      await this.#associate(request, carrier, origin);
    } catch (error) {
      if (error instanceof SocksRejection) {
        if (error.cause instanceof HookError) logAcceptFailure(error.cause, this.#context);
        else logRejection(error.cause, this.#context, source);
        await closeGracefully(link, clock, { response: error.reply });
      }
      throw error;
    }
  }

  #connect(
    { version, address: destination }: SocksRequest,
    link: ByteLink,
    origin: Origin,
  ): Promise<void> {
    const { dispatcher, sniffing: sniff, clock } = this.#context;
    let accepted = false;
    const accept = async (): Promise<ByteLink> => {
      accepted = true;
      await link.write(encodeReply(version, Reply.succeeded));
      return link;
    };
    const stream = dispatcher.stream({ origin, destination, sniff, client: link, accept });
    return stream.catch(async (error: unknown) => {
      if (!accepted) {
        await closeGracefully(link, clock, { response: encodeReply(version, replyOf(error)) });
      }
      // The dispatcher logs destinations that cannot be reached, and the client has its reply.
      if (accepted || !(error instanceof DialError)) throw error;
    });
  }

  async #associate(request: SocksRequest, carrier: Carrier, origin: Origin): Promise<void> {
    const reject = (reply: Reply, reason: string): SocksRejection =>
      new SocksRejection(encodeReply(SOCKS5, reply), `UDP ASSOCIATE rejected: ${reason}`);
    if (origin.account?.isValid === false) throw reject(Reply.notAllowed, 'the account is removed');
    if (!this.#settings.udp) throw reject(Reply.commandUnsupported, 'udp is off');
    const plan = planRelay({
      udpBind: this.#settings.udpBind,
      remote: carrier.remote,
      local: carrier.local,
      stated: request.address,
    });
    if (!plan) {
      throw reject(Reply.notAllowed, "the relay could not receive the client's datagrams");
    }
    await serveAssociation(plan, carrier, origin, this.#context);
  }
}
