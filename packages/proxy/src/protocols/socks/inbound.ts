import { unmapIPv4 } from '@weir/io/addresses';
import { closeGracefully, type ByteLink, type Carrier } from '@weir/io/links';
import { DialError } from '@weir/io';
import type { Steps } from '@weir/io/time';
import type { Session } from '../../tracker/flow.ts';
import { AccountTable } from '../users/account-table.ts';
import type { InboundContext, InboundHandler, Origin } from '../contract.ts';
import { logRejection } from '../inbounds/rejected-client.ts';
import { originOf } from '../inbounds/serve-flows.ts';
import { OPEN_TO_ALL, type AcceptedAccounts } from '../users/standing.ts';
import { serveAssociation, planRelay } from './association.ts';
import { runHandshake, SocksRejection } from './handshake.ts';
import { readSocksRequest, type SocksRequest } from './server-handshake.ts';
import type { SocksInboundSettings } from './settings.ts';
import { encodeReply, Reply, replyOf, SOCKS5 } from './wire.ts';

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
      const request = await runHandshake(link, clock, (handshake) =>
        readSocksRequest(handshake, this.#accounts),
      );
      const origin = originOf(this.#context, source, session, request.user);
      // Not awaited: that would keep this frame in memory for the lifetime of the flow.
      if (request.command === 'connect') return this.#connect(request, link, origin);
      await this.#associate(request, carrier, origin);
    } catch (error) {
      if (error instanceof SocksRejection) {
        logRejection(error.cause, this.#context, source);
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
    if (origin.standing?.stands === false) throw reject(Reply.notAllowed, 'the account is removed');
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
