import type { BoundedReader } from '@weir/io/links';
import { ProtocolError } from '@weir/io';
import { FramedPackets, GreetingLink } from '@weir/io/layers';
import type { Steps } from '@weir/io/time';
import type { InboundContext, InboundHandler } from '../contract.ts';
import {
  type AcceptedRequest,
  readHandshake,
  RejectedClientError,
  type UserRequest,
} from '../inbounds/handshake.ts';
import { carryStream, holderOf, serveMux } from '../inbounds/serve-flows.ts';
import { UsersByKey } from '../users/account-table.ts';
import { uuidBytes } from '../users/uuid.ts';
import {
  Command,
  ID_BYTES,
  MAX_VLESS_REQUEST,
  readVlessRequest,
  RESPONSE_HEADER,
  VLESS_VERSION,
  VlessFraming,
  type VlessRequest,
} from './wire.ts';
import type { VlessInboundSettings } from './settings.ts';

export const vlessUsers = ({ users }: VlessInboundSettings): Steps<UsersByKey> =>
  UsersByKey.of(
    users,
    ({ id }) => uuidBytes(id),
    ({ id }) => ({ id }),
  );

/** Creates a VLESS server without flow on accepted carriers. Rejected clients get no response. */
export function createVlessInbound(users: UsersByKey, context: InboundContext): InboundHandler {
  const handshake = {
    limit: MAX_VLESS_REQUEST,
    what: 'the VLESS handshake',
    read: (reader: BoundedReader) => authenticate(reader, users),
  };
  return {
    accounts: users,
    async serve(carrier, session) {
      const accepted = await readHandshake(carrier, session, context, handshake);
      // Not awaited: that would keep this frame in memory for the lifetime of the flow.
      return serve(new GreetingLink(carrier.link, RESPONSE_HEADER), accepted, context);
    },
  };
}

async function serve(
  link: GreetingLink,
  { request, origin }: AcceptedRequest<VlessRequest>,
  context: InboundContext,
): Promise<void> {
  switch (request.command) {
    case Command.tcp:
      // The header reports that the destination was reached, so it is sent soon even if the
      // destination sends nothing.
      await carryStream(link, { origin, destination: request.destination }, context, () =>
        link.greetSoon(context.clock),
      );
      break;
    case Command.udp: {
      const client = new FramedPackets(
        link,
        new VlessFraming(request.destination),
        holderOf(origin),
      );
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

async function authenticate(
  reader: BoundedReader,
  users: UsersByKey,
): Promise<VlessRequest & UserRequest> {
  if ((await reader.byte()) !== VLESS_VERSION) throw new ProtocolError('vless: unknown version');
  const user = users.find(await reader.bytes(ID_BYTES));
  if (!user) throw new RejectedClientError('vless: invalid user');
  return { user, ...(await readVlessRequest(reader)) };
}
