import { shownHost } from '../../net/addresses/shown-address.ts';
import { asError, codeOf, messageOf } from '../../errors.ts';
import { ipVersion, type Endpoint } from '../../net/addresses/address.ts';
import { DeadlineError, DialError, toDialError, TruncatedError } from '../../net/errors.ts';
import type { ByteLink, Carrier, PacketLink } from '../../net/links/link.ts';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { UNSPECIFIED } from './address.ts';
import { ServerDatagrams } from './association.ts';
import { makeRequest, requestFromServer, type ClientRequest } from './client-handshake.ts';
import { runHandshake } from './handshake.ts';
import type { SocksOutboundSettings } from './settings.ts';
import { reachableAddress } from '../../net/sockets/reachable-address.ts';
import { Command } from './wire.ts';

/** A SOCKS5 client; the server resolves host names. */
export class SocksOutbound implements Outbound {
  readonly #settings: SocksOutboundSettings;
  readonly #context: OutboundContext;

  constructor(settings: SocksOutboundSettings, context: OutboundContext) {
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

  /** Returns the relay's address. An unspecified address in the reply means the server's own. */
  async #relayAddress(
    bound: Endpoint | undefined,
    { remote }: Carrier,
    { signal }: DialOptions,
  ): Promise<Endpoint> {
    if (!bound || bound.port === 0) {
      throw new DialError('upstream', 'no relay address in the reply of the SOCKS server');
    }
    const { resolver, family, server } = this.#context;
    const unspecified = bound.host === '0.0.0.0' || bound.host === '::';
    const host = unspecified ? (remote?.host ?? server?.host ?? '') : bound.host;
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
