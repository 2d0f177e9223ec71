import { messageOf } from '../../errors.ts';
import { ipVersion, type Endpoint } from '../../net/address.ts';
import { DeadlineError, DialError, toDialError } from '../../net/errors.ts';
import type { ByteLink, Carrier, PacketLink } from '../../net/link.ts';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { UNSPECIFIED } from './address.ts';
import { ask, makeRequest, type ClientRequest } from './client.ts';
import { converse } from './handshake.ts';
import { ServerDatagrams } from './server-datagrams.ts';
import type { SocksOutboundSettings } from './settings.ts';
import { Command } from './wire.ts';

/** A SOCKS5 client; host names travel as names. */
export function createSocksOutbound(
  settings: SocksOutboundSettings,
  context: OutboundContext,
): Outbound {
  return new SocksOutbound(settings, context);
}

class SocksOutbound implements Outbound {
  readonly #settings: SocksOutboundSettings;
  readonly #context: OutboundContext;

  constructor(settings: SocksOutboundSettings, context: OutboundContext) {
    this.#settings = settings;
    this.#context = context;
  }

  async connect(destination: Endpoint, options: DialOptions): Promise<ByteLink> {
    const { carrier } = await this.#ask(makeRequest(Command.connect, destination), options);
    return carrier.link;
  }

  async associate(options: DialOptions): Promise<PacketLink> {
    // Where our datagrams will seem to come from is not ours to know: all zeros (RFC 1928 §4).
    const { carrier, bound } = await this.#ask(
      makeRequest(Command.associate, UNSPECIFIED),
      options,
    );
    try {
      const relay = await this.#relayAddress(bound, carrier, options);
      return await openDatagrams(relay, carrier.link);
    } catch (error) {
      throw this.#failure(carrier, error, options);
    }
  }

  close(): void {
    // Flows share nothing.
  }

  async #ask(
    request: ClientRequest,
    options: DialOptions,
  ): Promise<{ carrier: Carrier; bound: Endpoint | undefined }> {
    const carrier = await this.#context.dial(options);
    try {
      const bound = await converse(
        carrier.link,
        this.#context.clock,
        (conversation) => ask(conversation, this.#settings, request),
        options.signal,
      );
      return { carrier, bound };
    } catch (error) {
      throw this.#failure(carrier, error, options);
    }
  }

  /** An unspecified address in the reply means the server's own. */
  async #relayAddress(
    bound: Endpoint | undefined,
    { remote }: Carrier,
    { signal }: DialOptions,
  ): Promise<Endpoint> {
    if (!bound || bound.port === 0) {
      throw new DialError('upstream', 'the SOCKS server names no relay for datagrams');
    }
    const { resolver, family, server } = this.#context;
    const unspecified = bound.host === '0.0.0.0' || bound.host === '::';
    const host = unspecified ? (remote?.host ?? server?.host ?? '') : bound.host;
    if (ipVersion(host) !== 0) return { host, port: bound.port };
    const [address] = await resolver.resolve(host, family, signal);
    if (address === undefined) throw new DialError('not_found', `${host}: no address`);
    return { host: address, port: bound.port };
  }

  /** Gives the carrier up and names the reason in the words of the dispatcher. */
  #failure({ link }: Carrier, error: unknown, { signal }: DialOptions): DialError {
    const cause = error instanceof Error ? error : new Error(String(error));
    link.destroy(cause);
    if (error instanceof DialError) return error;
    if (error instanceof DeadlineError) {
      return new DialError('timed_out', error.message, { cause });
    }
    const code = signal.aborted ? 'aborted' : 'upstream';
    return new DialError(code, `SOCKS server: ${messageOf(error)}`, { cause });
  }
}

async function openDatagrams(relay: Endpoint, control: ByteLink): Promise<PacketLink> {
  try {
    return await ServerDatagrams.open(relay, control);
  } catch (error) {
    throw toDialError(error, relay);
  }
}
