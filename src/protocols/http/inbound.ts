import type { InboundContext, InboundHandler } from '../contract.ts';
import { ClientConnection } from './client-connection.ts';
import { Credentials } from './credentials.ts';
import type { HttpInboundSettings } from './settings.ts';

/** An HTTP/1.1 proxy: CONNECT, absolute-form requests and, where allowed, origin-form ones. */
export function createHttpInbound(
  settings: HttpInboundSettings,
  context: InboundContext,
): InboundHandler {
  const { accounts, allowTransparent } = settings;
  const credentials = accounts.length > 0 ? new Credentials(accounts) : undefined;
  const shared = { context, credentials, allowTransparent };
  return {
    serve: (carrier, session) => new ClientConnection(shared, carrier, session).serve(),
  };
}
