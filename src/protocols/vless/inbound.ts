import { unmapIPv4 } from '../../net/addresses/address.ts';
import type { BoundedReader } from '../../net/links/bounded-reader.ts';
import { ProtocolError } from '../../net/errors.ts';
import { FramedPackets } from '../../net/packets/framed-packets.ts';
import { GreetingLink } from '../../net/links/greeting-link.ts';
import type { Carrier } from '../../net/links/link.ts';
import type { Steps } from '../../net/time/turns.ts';
import type { Session } from '../../tracker/session.ts';
import { carryStream, serveMux } from '../inbounds/serve-flows.ts';
import type { InboundContext, InboundHandler, Origin } from '../contract.ts';
import { readHandshake } from '../inbounds/handshake.ts';
import { RejectedClientError, logRejection } from '../inbounds/rejected-client.ts';
import { accountsOf } from '../users/standing.ts';
import { VlessFraming } from './packet-framing.ts';
import type { VlessInboundSettings } from './settings.ts';
import { UserTable } from './users.ts';
import {
  RESPONSE_HEADER,
  Command,
  ID_BYTES,
  readRequestBody,
  REQUEST_LIMIT,
  VERSION,
  type RequestBody,
} from './wire.ts';

/** A VLESS server without flow on accepted carriers. Rejected clients get no response. */
export function* createVlessInbound(
  settings: VlessInboundSettings,
  context: InboundContext,
): Steps<InboundHandler> {
  const users = yield* UserTable.of(settings.users);
  return {
    accounts: users,
    serve: (carrier, session) => serve(users, context, carrier, session),
  };
}

async function serve(
  users: UserTable,
  context: InboundContext,
  carrier: Carrier,
  session: Session,
): Promise<void> {
  const { clock } = context;
  const source = carrier.remote && unmapIPv4(carrier.remote.host);
  const options = {
    clock,
    limit: REQUEST_LIMIT,
    protocol: 'VLESS',
    onRejected: (error: unknown) => logRejection(error, context, source),
  };
  const request = await readHandshake(carrier.link, options, (reader) =>
    readRequest(reader, users),
  );
  const origin: Origin = {
    inbound: context.tag,
    source,
    user: undefined,
    session,
    standing: accountsOf(context.memory).standing(request.credential),
  };
  const link = new GreetingLink(carrier.link, RESPONSE_HEADER);
  switch (request.command) {
    case Command.tcp:
      // The header says that the destination was reached, so it does not wait long for one that
      // sends nothing.
      await carryStream(link, { origin, destination: request.destination }, context, () =>
        link.greetSoon(clock),
      );
      break;
    case Command.udp: {
      const client = new FramedPackets(link, new VlessFraming(request.destination));
      await context.dispatcher.packets({ origin, client });
      break;
    }
    case Command.mux:
      await serveMux(link, origin, context);
      break;
    default:
      request satisfies never;
  }
}

async function readRequest(
  reader: BoundedReader,
  users: UserTable,
): Promise<RequestBody & { readonly credential: string }> {
  if ((await reader.byte()) !== VERSION) throw new ProtocolError('vless: unknown version');
  const credential = users.find(await reader.bytes(ID_BYTES));
  if (credential === undefined) throw new RejectedClientError('vless: invalid user');
  return { credential, ...(await readRequestBody(reader)) };
}
