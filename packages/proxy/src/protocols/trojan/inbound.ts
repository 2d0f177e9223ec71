import type { BoundedReader, ByteLink } from '@weir/io/links';
import { FramedPackets } from '@weir/io/layers';
import type { Steps } from '@weir/io/time';
import type { InboundContext, InboundHandler } from '../contract.ts';
import {
  type AcceptedRequest,
  readHandshake,
  RejectedClientError,
  type UserRequest,
} from '../inbounds/handshake.ts';
import { carryStream, holderOf } from '../inbounds/serve-flows.ts';
import { UsersByKey } from '../users/account-table.ts';
import { type TrojanInboundSettings, trojanKey } from './settings.ts';
import {
  Command,
  KEY_BYTES,
  MAX_TROJAN_REQUEST,
  readTrojanRequest,
  TrojanFraming,
  type TrojanRequest,
} from './wire.ts';

export const trojanUsers = ({ users }: TrojanInboundSettings): Steps<UsersByKey> =>
  UsersByKey.of(
    users,
    ({ password }) => trojanKey(password),
    ({ email }) => ({ label: email === '' ? undefined : email }),
  );

/** Creates a Trojan server on accepted carriers. It has no fallback: unauthenticated clients are closed. */
export function createTrojanInbound(users: UsersByKey, context: InboundContext): InboundHandler {
  const handshake = {
    limit: MAX_TROJAN_REQUEST,
    what: 'the Trojan handshake',
    read: (reader: BoundedReader) => authenticate(reader, users),
  };
  return {
    accounts: users,
    async serve(carrier, session) {
      const accepted = await readHandshake(carrier, session, context, handshake);
      // Not awaited: that would keep this frame in memory for the lifetime of the flow.
      return serve(carrier.link, accepted, context);
    },
  };
}

async function serve(
  link: ByteLink,
  { request, origin }: AcceptedRequest<TrojanRequest>,
  context: InboundContext,
): Promise<void> {
  const { command, destination } = request;
  switch (command) {
    case Command.connect:
      await carryStream(link, { origin, destination }, context);
      break;
    case Command.associate: {
      const client = new FramedPackets(link, new TrojanFraming(), holderOf(origin));
      await context.dispatcher.packets({ origin, client });
      break;
    }
    default:
      command satisfies never;
  }
}

async function authenticate(
  reader: BoundedReader,
  users: UsersByKey,
): Promise<TrojanRequest & UserRequest> {
  const user = users.find(await reader.bytes(KEY_BYTES));
  if (!user) throw new RejectedClientError('trojan: invalid user');
  return { user, ...(await readTrojanRequest(reader)) };
}
