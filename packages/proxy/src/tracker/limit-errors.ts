import { quoted } from '@weir/base/printable';
import { DialError, LinkClosedError } from '@weir/io';
import type { ReachedLimit } from '../limits/account-meter.ts';

const TEXTS: Readonly<Record<ReachedLimit, (user: string) => string>> = {
  bytes: (user) => `the account ${quoted(user)} has used its bytes`,
  until: (user) => `the account ${quoted(user)} has expired`,
  devices: (user) => `the account ${quoted(user)} is in use by as many devices as it may have`,
};

/** Returns the cause of the end of flows whose account has reached a limit. */
export const limitReached = (user: string, limit: ReachedLimit): Error =>
  new LinkClosedError(TEXTS[limit](user));

/** Returns the error of a flow that is refused by a limit of its account. */
export const refusedByLimit = (user: string, limit: ReachedLimit): DialError =>
  new DialError('forbidden', TEXTS[limit](user));
