import { unmapIPv4 } from '@weir/io/addresses';
import type { ByteLink, Carrier } from '@weir/io/links';
import type { Session } from '../../tracker/flow.ts';
import { carryStream, originOf, serveMux } from '../inbounds/serve-flows.ts';
import type { InboundContext, InboundHandler } from '../contract.ts';
import { logRejection } from '../inbounds/rejected-client.ts';
import type { AcceptedAccounts } from '../users/standing.ts';
import { type BodyParts, BodyLink } from './body/body.ts';
import { requestKeys, responseKeys, responseSecrets } from './body/body-keys.ts';
import { BodyOpener, BodySealer } from './body/body-chunks.ts';
import { BodyDatagrams } from './body/body-datagrams.ts';
import { receiveRequest } from './header/request.ts';
import { SystemRandomSource, type RandomSource } from '@weir/base/random';
import { type RequestHeader, Command } from './wire.ts';
import { sealResponse } from './header/response.ts';
import type { VmessUsers } from './vmess-users.ts';

/** A VMess server with AEAD headers on accepted carriers. */
export class VmessInbound implements InboundHandler {
  readonly #context: InboundContext;
  readonly #random: RandomSource;
  readonly #users: VmessUsers;

  constructor(
    users: VmessUsers,
    context: InboundContext,
    random: RandomSource = new SystemRandomSource(),
  ) {
    this.#context = context;
    this.#random = random;
    this.#users = users;
  }

  get accounts(): AcceptedAccounts {
    return this.#users;
  }

  async serve({ link, remote }: Carrier, session: Session): Promise<void> {
    const { clock, dispatcher } = this.#context;
    const source = remote && unmapIPv4(remote.host);
    let credential = '';
    const header = await receiveRequest(
      link,
      clock,
      async (authId, signal) => {
        const user = await this.#users.identify(authId, source, { link, signal });
        credential = user.id;
        return user.key;
      },
      (error) => logRejection(error, this.#context, source),
    );
    const { request } = header;
    const user = { label: undefined, credential }; // an account has no name
    const origin = originOf(this.#context, source, session, user);
    const parts = this.#body(link, header);
    switch (request.command) {
      case Command.udp:
        await dispatcher.packets({ origin, client: new BodyDatagrams(parts, request.destination) });
        break;
      case Command.tcp:
        await carryStream(new BodyLink(parts), { ...request, origin }, this.#context);
        break;
      case Command.mux:
        await serveMux(new BodyLink(parts), origin, this.#context);
        break;
      default:
        request satisfies never;
    }
  }

  #body(carrier: ByteLink, header: RequestHeader): BodyParts {
    const secrets = responseSecrets(header);
    return {
      carrier,
      decoder: new BodyOpener(requestKeys(header)),
      sealer: new BodySealer(responseKeys(header, secrets), this.#random),
      preface: sealResponse(header, secrets),
    };
  }
}
