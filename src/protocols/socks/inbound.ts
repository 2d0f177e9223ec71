import { DialError, ProtocolError } from '../../net/errors.ts';
import type { Carrier } from '../../net/link.ts';
import type { Session } from '../../tracker/session.ts';
import { unmapIPv4, type Endpoint } from '../../net/address.ts';
import type { InboundContext, InboundHandler, Origin } from '../contract.ts';
import { AccountTable } from './account-table.ts';
import { associate } from './associate.ts';
import { converse, say, type Conversation } from './handshake.ts';
import { closeGracefully } from '../../net/close-gracefully.ts';
import { SocksRefusal } from './refusal.ts';
import { planRelay } from './relay-plan.ts';
import { replyOf } from './replies.ts';
import type { SocksInboundSettings } from './settings.ts';
import { readSocks4 } from './socks4.ts';
import { readSocks5 } from './socks5.ts';
import { encodeReply, Reply, SOCKS4, SOCKS5, type SocksVersion } from './wire.ts';

/** What a client asks for, in either version of the protocol. */
type SocksRequest = {
  readonly version: SocksVersion;
  readonly command: 'connect' | 'associate';
  readonly address: Endpoint;
  readonly user: string | undefined;
};

/** A SOCKS4, SOCKS4a and SOCKS5 server on accepted carriers. */
export function createSocksInbound(
  settings: SocksInboundSettings,
  context: InboundContext,
): InboundHandler {
  return new SocksInbound(settings, context);
}

class SocksInbound implements InboundHandler {
  readonly #settings: SocksInboundSettings;
  readonly #context: InboundContext;
  readonly #accounts: AccountTable | undefined;

  constructor(settings: SocksInboundSettings, context: InboundContext) {
    this.#settings = settings;
    this.#context = context;
    this.#accounts = settings.auth === 'password' ? new AccountTable(settings.accounts) : undefined;
  }

  async serve(carrier: Carrier, session: Session): Promise<void> {
    const { clock } = this.#context;
    try {
      const request = await converse(carrier.link, clock, (talk) => this.#readRequest(talk));
      const origin: Origin = {
        inbound: this.#context.tag,
        source: carrier.remote && unmapIPv4(carrier.remote.host),
        user: request.user,
        session,
      };
      if (request.command === 'connect') await this.#connect(request, carrier, origin);
      else await this.#associate(request, carrier, origin);
    } catch (error) {
      if (error instanceof SocksRefusal) {
        await closeGracefully(carrier.link, clock, { response: error.answer });
      }
      throw error;
    }
  }

  async #readRequest(conversation: Conversation): Promise<SocksRequest> {
    const version = await conversation.reader.byte();
    switch (version) {
      case SOCKS4: {
        if (this.#accounts) {
          throw new SocksRefusal(
            encodeReply(SOCKS4, Reply.failure),
            'SOCKS4 cannot carry the password that is asked for here',
          );
        }
        const address = await readSocks4(conversation.reader);
        return { version, command: 'connect', address, user: undefined };
      }
      case SOCKS5:
        return { version, ...(await readSocks5(conversation, this.#accounts)) };
      default:
        throw new ProtocolError(`not a SOCKS client: its first octet is ${version}`);
    }
  }

  async #connect(
    { version, address: destination }: SocksRequest,
    { link }: Carrier,
    origin: Origin,
  ): Promise<void> {
    const { dispatcher, sniffing: sniff, clock } = this.#context;
    let accepted = false;
    const accept = async (): Promise<Carrier['link']> => {
      accepted = true;
      await say(link, encodeReply(version, Reply.succeeded));
      return link;
    };
    try {
      await dispatcher.stream({ origin, destination, sniff, client: link, accept });
    } catch (error) {
      if (!accepted) {
        await closeGracefully(link, clock, { response: encodeReply(version, replyOf(error)) });
      }
      // That a destination cannot be reached is the dispatcher's news, and the client has it now.
      if (accepted || !(error instanceof DialError)) throw error;
    }
  }

  async #associate(request: SocksRequest, carrier: Carrier, origin: Origin): Promise<void> {
    const refuse = (reply: Reply, why: string): SocksRefusal =>
      new SocksRefusal(encodeReply(SOCKS5, reply), `UDP ASSOCIATE refused: ${why}`);
    if (!this.#settings.udp) throw refuse(Reply.commandUnsupported, 'udp is off');
    const plan = planRelay({
      udpBind: this.#settings.udpBind,
      remote: carrier.remote,
      local: carrier.local,
      stated: request.address,
    });
    if (!plan) {
      throw refuse(Reply.notAllowed, "the relay could not receive the client's datagrams");
    }
    await associate(plan, carrier, origin, this.#context);
  }
}
