import { randomBytes } from 'node:crypto';
import type { InboundContext, InboundHandler } from '../contract.ts';
import { ClientConnection } from './client-connection.ts';
import { Credentials } from './credentials.ts';
import type { HttpInboundSettings } from './settings.ts';

/** The name of one inbound in `Via`. */
class Pseudonym {
  readonly text = randomBytes(8).toString('hex');
}

/** An HTTP/1.1 proxy: CONNECT, absolute-form requests and, where allowed, origin-form ones. */
export function createHttpInbound(
  settings: HttpInboundSettings,
  context: InboundContext,
): InboundHandler {
  const { accounts, allowTransparent } = settings;
  const credentials = accounts.length > 0 ? new Credentials(accounts) : undefined;
  // Random, so that it tells nothing of this host; kept by reloads, and of no use to a client that
  // wants to pass for another proxy.
  const pseudonym = context.memory.recall('Via', Pseudonym, () => new Pseudonym()).text;
  const shared = { context, credentials, allowTransparent, pseudonym };
  return {
    serve: (carrier, session) => new ClientConnection(shared, carrier, session).serve(),
  };
}
