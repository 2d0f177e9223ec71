import { hyphenated, shortId } from '../users/uuid.ts';
import type { SharedContext, UserForm } from './contract.ts';
import { namedUser, type SharedUser } from './shared-server.ts';

/** How an inbound writes users whose only credential is a UUID. */
export const UUID_USER: UserForm = { lists: ['users'], name: undefined, secret: 'id' };

/** Returns the users of an inbound as their clients reach it; without a label the start of the UUID is the name. */
export const sharedUuidUsers = (
  { users }: { readonly users: readonly { readonly id: string }[] },
  { protocol, stream, labels }: SharedContext,
): readonly SharedUser[] =>
  users.map(({ id }, index) => ({
    ...namedUser(index, [labels[index], shortId(id)]),
    access: { protocol, settings: { id: hyphenated(id) }, stream },
  }));

/** Returns the lines of a generated `[inbound.settings]` for one user. @param comment has the name of the user */
export const uuidUserLines = (id: string, comment: string): readonly string[] => [
  'users = [',
  `  { id = ${JSON.stringify(id)} }, ${comment}`,
  ']',
];
