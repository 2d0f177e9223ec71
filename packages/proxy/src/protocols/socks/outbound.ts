import { type Endpoint, ipVersion, shownEndpoint, shownHost } from '@weir/io/addresses';
import { asError, codeOf, messageOf } from '@weir/base';
import { splitZone } from '@weir/base/ip';
import { DeadlineError, DialError, ProtocolError, toDialError, TruncatedError } from '@weir/io';
import type { ByteLink, Carrier, PacketLink } from '@weir/io/links';
import { reachableAddress } from '@weir/io/sockets';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import {
  AUTH_VERSION,
  AuthStatus,
  Command,
  encodeCredentials,
  encodeOffer,
  encodeRequest,
  meaningOf,
  Method,
  readAddress,
  Reply,
  runHandshake,
  SOCKS5,
  type SocksHandshake,
  UNSPECIFIED,
} from './wire.ts';
import { ServerDatagrams } from './association.ts';
import type { LoginSettings } from '../users/account-settings.ts';
import type { Account } from '../users/account-table.ts';

/** A request as bytes, with the name of its destination for error messages. */
interface ClientRequest {
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

/** Link-local addresses of IPv6 (RFC 4291 §2.5.6). */
const LINK_LOCAL = /^fe[89ab]/;

/**
 * Returns the host of the relay that a reply names. An unspecified address means the server's own; a link-local one has
 * no zone there, so that it is on the link of the server.
 *
 * @param server the server's host, with its zone if it has one
 */
export function relayHost(bound: string, server: string): string {
  if (bound === '0.0.0.0' || bound === '::') return server;
  const { zone } = splitZone(server);
  return zone !== '' && LINK_LOCAL.test(bound) ? `${bound}%${zone}` : bound;
}

/** A SOCKS5 client; the server resolves host names. */
export class SocksOutbound implements Outbound {
  readonly #settings: LoginSettings;
  readonly #context: OutboundContext;

  constructor(settings: LoginSettings, context: OutboundContext) {
    this.#settings = settings;
    this.#context = context;
  }

  async connect(destination: Endpoint, options: DialOptions): Promise<ByteLink> {
    const { carrier } = await this.#request(makeRequest(Command.connect, destination), options);
    return carrier.link;
  }

  async associate(options: DialOptions): Promise<PacketLink> {
    // All zeros: the source address of the datagrams is not known yet (RFC 1928 §4).
    const { carrier, bound } = await this.#request(makeRequest(Command.associate, UNSPECIFIED), {
      ...options,
      use: 'association',
    });
    try {
      const relay = await this.#relayAddress(bound, carrier, options);
      return await openDatagrams(relay, carrier.link, options.origin?.source);
    } catch (error) {
      throw this.#failure(carrier, error, options);
    }
  }

  close(): void {
    // Flows share nothing.
  }

  async #request(
    request: ClientRequest,
    options: DialOptions,
  ): Promise<{ carrier: Carrier; bound: Endpoint | undefined }> {
    const carrier = await this.#context.dial(options);
    const { reach, signal } = options;
    // A load balancer accepts connections even while none of its servers runs.
    reach?.trying();
    let isAsked = false;
    const onAccepted = (): void => {
      reach?.reached();
      isAsked = true;
    };
    try {
      const bound = await runHandshake(
        carrier.link,
        this.#context.clock,
        (handshake) => requestFromServer(handshake, this.#settings.account, request, onAccepted),
        signal,
      );
      return { carrier, bound };
    } catch (error) {
      throw this.#failure(carrier, withoutReply(error, isAsked ? request : undefined), options);
    }
  }

  /** Returns the relay's address. */
  async #relayAddress(
    bound: Endpoint | undefined,
    { remote }: Carrier,
    { signal }: DialOptions,
  ): Promise<Endpoint> {
    if (!bound || bound.port === 0) {
      throw new DialError('upstream', 'no relay address in the reply of the SOCKS server');
    }
    const { resolver, family, server } = this.#context;
    const host = relayHost(bound.host, remote?.host ?? server?.host ?? '');
    if (ipVersion(host) !== 0) return { host, port: bound.port };
    const addresses = await resolver.resolve(host, family, signal);
    const address = await reachableAddress(addresses, family);
    if (address === undefined) throw new DialError('not_found', `${shownHost(host)}: no address`);
    return { host: address, port: bound.port };
  }

  /** Destroys the carrier and returns the error for the dispatcher. */
  #failure({ link }: Carrier, error: unknown, { signal }: DialOptions): DialError {
    const cause = asError(error);
    link.destroy(cause);
    if (error instanceof DialError) return error;
    if (error instanceof DeadlineError) {
      return new DialError('timed_out', error.message, { cause });
    }
    const code = signal.aborted ? 'aborted' : 'upstream';
    return new DialError(code, `SOCKS server: ${messageOf(error)}`, { cause });
  }
}

/**
 * Returns the error for a close without a reply: `ssh -D` closes so when a destination refuses; others reset.
 * @param asked the request, if it was sent to the server
 */
function withoutReply(error: unknown, asked: ClientRequest | undefined): unknown {
  const isReset = codeOf(error) === 'ECONNRESET';
  if (!isReset && !(error instanceof TruncatedError)) return error;
  const how = isReset ? 'reset the connection' : 'closed';
  const what = asked
    ? `without a reply for ${asked.target}`
    : 'before it took a request: it may be no SOCKS5 server, or reject the account';
  return new DialError('upstream', `the SOCKS server ${how} ${what}`, { cause: error });
}

async function openDatagrams(
  relay: Endpoint,
  control: ByteLink,
  client: string | undefined,
): Promise<PacketLink> {
  try {
    return await ServerDatagrams.open(relay, control, client);
  } catch (error) {
    throw toDialError(error, relay);
  }
}
