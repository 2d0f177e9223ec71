import { randomBytes } from 'node:crypto';
import { HeadMemory } from '@weir/http/http1';
import { TurnShare, type Steps } from '@weir/io/time';
import { AccountTable } from '../users/account-table.ts';
import type { InboundContext, InboundHandler } from '../contract.ts';
import { PersistentConnection } from './persistent-connection.ts';
import { REQUESTS_A_TURN } from './limits.ts';
import { OPEN_TO_ALL } from '../users/accounts.ts';
import type { HttpInboundSettings } from './settings.ts';

/** The pseudonym of an inbound in `Via`. */
class Pseudonym {
  readonly text = randomBytes(8).toString('hex');
}

/** Builds the table of accounts; `undefined` for a server that is open to all. */
export function* httpAccounts({ accounts }: HttpInboundSettings): Steps<AccountTable | undefined> {
  return accounts.length > 0 ? yield* AccountTable.of(accounts) : undefined;
}

/** Creates an HTTP/1.1 proxy: CONNECT, absolute-form requests and, where allowed, origin-form ones. */
export function createHttpInbound(
  accounts: AccountTable | undefined,
  context: InboundContext,
  { allowTransparent }: HttpInboundSettings,
): InboundHandler {
  // Random, so that it reveals nothing about this host and clients cannot guess it. Reloads keep
  // it, so that a request in a loop is still recognized.
  const pseudonym = context.memory.recall('Via', Pseudonym, () => new Pseudonym()).text;
  const requests = new TurnShare(REQUESTS_A_TURN);
  const heads = new HeadMemory();
  const responseHeads = new HeadMemory();
  const state = { pseudonym, requests, heads, responseHeads };
  const shared = { context, accounts, allowTransparent, ...state };
  return {
    accounts: accounts ?? OPEN_TO_ALL,
    serve: (carrier, session) => new PersistentConnection(shared, carrier, session).serve(),
  };
}
