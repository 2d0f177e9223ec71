import { isUtf8 } from 'node:buffer';
import { LinkClosedError } from '@weir/io';
import { type ByteLink, onClosed } from '@weir/io/links';
import type { InboundContext } from '../contract.ts';
import type { AuthorizeAnswer } from '../hooks.ts';
import type { AuthenticatedUser } from '../users/accounts.ts';

/** Bytes of a user name, and of a password, beyond which the host program is not asked. */
const MOST_BYTES = 1_024;

/** The user name and the password that a client has sent. */
export interface SentCredentials {
  readonly user: Buffer;
  readonly pass: Buffer;
}

/** A client that the accounts of the configuration accept. */
interface AcceptedClient {
  readonly user: AuthenticatedUser;
  /** `undefined` if the client has sent none. */
  readonly sent: SentCredentials | undefined;
  /** The client's IP address; `undefined` on a unix socket. */
  readonly source: string | undefined;
  readonly link: ByteLink;
}

/**
 * Asks the `authorize` hook of the host program about a client. Without the hook the client is accepted.
 *
 * @returns the user of the client's flows, `undefined` when the client is refused; a promise if the hook takes time
 * @throws {HookError} or rejects with it
 * @throws {LinkClosedError} when the client disconnects meanwhile
 */
export function authorizeClient(
  { tag, hooks }: Pick<InboundContext, 'tag' | 'hooks'>,
  client: AcceptedClient,
): AuthenticatedUser | undefined | Promise<AuthenticatedUser | undefined> {
  const hook = hooks?.authorize;
  const { user, sent, source, link } = client;
  if (!hook) return user;
  if (sent && !(isAskable(sent.user) && isAskable(sent.pass))) return undefined;
  const name = sent?.user.toString();
  const accepted = (answer: AuthorizeAnswer): AuthenticatedUser | undefined => {
    if (answer === false) return undefined;
    const label = answer === true ? (user.label ?? name) : answer.user;
    return { label, credential: user.credential };
  };
  const answer = hook.ask({ inbound: tag, user: name, password: sent?.pass.toString(), source });
  return answer instanceof Promise ? untilClosed(answer, link).then(accepted) : accepted(answer);
}

/** Whether a text can be passed on without a change, which two different texts might share. */
const isAskable = (text: Buffer): boolean => text.length <= MOST_BYTES && isUtf8(text);

/** Settles as `answer`, or rejects when the client disconnects, which its place in the queue of the hook survives. */
function untilClosed<T>(answer: Promise<T>, link: ByteLink): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const forget = onClosed(link.closed, () => reject(new LinkClosedError('the client has left')));
  answer.then(resolve, reject);
  return promise.finally(forget);
}
