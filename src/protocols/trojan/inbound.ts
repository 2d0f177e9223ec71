import { unmapIPv4 } from '../../net/addresses/address.ts';
import type { BoundedReader } from '../../net/links/bounded-reader.ts';
import { FramedPackets } from '../../net/packets/framed-packets.ts';
import type { Carrier } from '../../net/links/link.ts';
import type { Steps } from '../../net/time/turns.ts';
import type { Session } from '../../tracker/session.ts';
import type { InboundContext, InboundHandler, Origin } from '../contract.ts';
import { carryStream } from '../inbounds/serve-flows.ts';
import { readHandshake } from '../inbounds/handshake.ts';
import { RejectedClientError, logRejection } from '../inbounds/rejected-client.ts';
import { accountsOf } from '../users/standing.ts';
import { TrojanFraming } from './packet-framing.ts';
import type { TrojanInboundSettings } from './settings.ts';
import { UserTable, type AuthenticatedUser } from './users.ts';
import { Command, KEY_BYTES, readRequestBody, REQUEST_LIMIT, type RequestBody } from './wire.ts';

/** A Trojan server on accepted carriers. It has no fallback: unauthenticated clients are closed. */
export function* createTrojanInbound(
  settings: TrojanInboundSettings,
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
  { link, remote }: Carrier,
  session: Session,
): Promise<void> {
  const { tag, clock, dispatcher } = context;
  const source = remote && unmapIPv4(remote.host);
  const options = {
    clock,
    limit: REQUEST_LIMIT,
    protocol: 'Trojan',
    onRejected: (error: unknown) => logRejection(error, context, source),
  };
  const { user, command, destination } = await readHandshake(link, options, (reader) =>
    readRequest(reader, users),
  );
  const origin: Origin = {
    inbound: tag,
    source,
    user: user.label,
    session,
    standing: accountsOf(context.memory).standing(user.credential),
  };
  switch (command) {
    case Command.connect:
      await carryStream(link, { origin, destination }, context);
      break;
    case Command.associate:
      await dispatcher.packets({ origin, client: new FramedPackets(link, new TrojanFraming()) });
      break;
    default:
      command satisfies never;
  }
}

async function readRequest(
  reader: BoundedReader,
  users: UserTable,
): Promise<RequestBody & { readonly user: AuthenticatedUser }> {
  const user = users.find(await reader.bytes(KEY_BYTES));
  if (!user) throw new RejectedClientError('trojan: invalid user');
  return { user, ...(await readRequestBody(reader)) };
}
