import { CodedError } from '@weir/base';
import { printable, quoted } from '@weir/base/printable';
import type { UserEdit, UserForm } from '@weir/proxy/protocols/forms';
import { formsOf, parseUuid, shortId } from '@weir/proxy/protocols';
import { suggestion } from '@weir/proxy/schema';
import type { SourceText } from '../../sources/source-text.ts';
import {
  ConfigInbounds,
  type InboundList,
  type WrittenElement,
  type WrittenInbound,
} from '../lists/inbound-list.ts';

export type UserErrorCode =
  /** No inbound has the tag, or the inbound has no users. */
  | 'no_inbound'
  | 'unknown_user'
  /** Several users have the name. */
  | 'ambiguous'
  /** The name, the secret or both are in use. */
  | 'duplicate'
  /** The name is not valid for this protocol. */
  | 'invalid_name'
  /** The edit would change how all other clients log in. */
  | 'meaning'
  /** The limits of the user are those of others too. */
  | 'shared_limit'
  /** The name stands for all accounts in a limits file. */
  | 'all_accounts';

/** The error of a refused edit of users. No message contains a secret. */
export class UserError extends CodedError<UserErrorCode> {}

/** A user as written. */
export interface WrittenUser {
  readonly inbound: string;
  readonly protocol: string;
  /** The index in the list of the inbound, from 0. */
  readonly index: number;
  /** The name; `undefined` for a user without one. */
  readonly name: string | undefined;
  /** The label of the user's flows in the API; `undefined` for a user without one. */
  readonly label: string | undefined;
  /**
   * The text by which a user can be called: the name; otherwise the start of the UUID, or `#` and the number from 1.
   */
  readonly shown: string;
}

/**
 * Lists the users of the inbounds of a file, in its order.
 * @param tag the tag of the only inbound to examine
 * @throws {ConfigError} when the file is not TOML
 * @throws {UserError} when no inbound has the tag, or it has no users
 */
export function listUsers(source: SourceText, tag?: string): readonly WrittenUser[] {
  const file = new ConfigInbounds(source);
  if (tag !== undefined) return usersOf(openInbound(file, tag));
  return file.all.flatMap((inbound) =>
    userForm(inbound) ? usersOf(openInbound(file, inbound.tag)) : [],
  );
}

/** How an inbound writes its users; `undefined` for a protocol without users, such as `tun`. */
const userForm = ({ protocol }: WrittenInbound): UserForm | undefined => formsOf(protocol)?.user;

/** An inbound with its list. */
interface OpenInbound {
  readonly inbound: WrittenInbound;
  readonly kind: UserForm;
  readonly list: InboundList;
  readonly elements: readonly WrittenElement[];
}

function openInbound(file: ConfigInbounds, tag: string): OpenInbound {
  const inbound = file.all.find((each) => each.tag === tag);
  if (!inbound) {
    const tags = file.all.map((each) => each.tag);
    const meant = suggestion(tag, tags);
    const hint = meant === undefined ? undefined : `did you mean ${quoted(meant)}?`;
    throw new UserError('no_inbound', `no inbound has the tag ${quoted(tag)}`, { hint });
  }
  const kind = userForm(inbound);
  const list = kind && file.list(tag, kind.lists);
  if (!kind || !list) {
    const message = `inbound ${quoted(tag)} has the protocol ${quoted(inbound.protocol)}, which has no users`;
    throw new UserError('no_inbound', message);
  }
  return { inbound, kind, list, elements: list.elements };
}

function usersOf({ inbound, kind, elements }: OpenInbound): readonly WrittenUser[] {
  return elements.map((element, index) => {
    const name = nameOf(element, kind);
    const id = kind.secret === 'id' ? parseUuid(element.values.get('id') ?? '') : undefined;
    return {
      inbound: inbound.tag,
      protocol: inbound.protocol,
      index,
      name,
      label: kind.name === undefined ? undefined : element.values.get('email') || name,
      shown: name ?? (id === undefined ? `#${index + 1}` : shortId(id)),
    };
  });
}

const nameOf = ({ values, label }: WrittenElement, kind: UserForm): string | undefined =>
  (kind.name === undefined ? label : values.get(kind.name)) || undefined;

/** A user to add. */
interface NewUser {
  readonly inbound: string;
  readonly name: string;
  /** Creates the secret of the user. @param method the method of Shadowsocks, if the file has one */
  readonly secret: (kind: UserForm, method: string | undefined) => string;
  /** Whether an edit is made even if it changes the access of all other clients. */
  readonly force: boolean;
}

/** The text after an edit, and notes about it. */
export interface EditedUsers {
  readonly text: string;
  readonly user: WrittenUser;
  readonly kind: UserForm;
  readonly secret: string;
  readonly notes: readonly string[];
}

/**
 * Adds a user at the end of the list of an inbound.
 * @throws {ConfigError | UserError} when nothing is to be changed
 */
export function addUser(source: SourceText, user: NewUser): EditedUsers {
  const open = openInbound(new ConfigInbounds(source), user.inbound);
  const { inbound, kind, list, elements } = open;
  refuseName(user.name, kind);
  const secret = user.secret(kind, inbound.settings.get('method'));
  for (const present of usersOf(open)) {
    if (present.name === user.name) {
      const message = `inbound ${quoted(inbound.tag)} has a user ${quoted(user.name)} already`;
      throw new UserError('duplicate', message);
    }
    // Only accounts are distinguished by their names, so only they may share a password.
    const values = elements[present.index]?.values.get(kind.secret) ?? '';
    if (kind.secret !== 'pass' && isSameSecret(values, secret, kind)) {
      const message = `the user ${quoted(present.shown)} of inbound ${quoted(inbound.tag)} has this ${kind.secret} already`;
      throw new UserError('duplicate', message);
    }
  }
  const notes = notesOnAdding(open, user.force);
  const pairs: [string, string][] =
    kind.name === 'user'
      ? [
          ['user', user.name],
          [kind.secret, secret],
        ]
      : [[kind.secret, secret]];
  if (kind.name === 'email') pairs.push(['email', user.name]);
  const label = kind.name === undefined ? user.name : undefined;
  const [index, name] = [elements.length, user.name];
  return {
    text: list.append({ pairs, label }),
    user: {
      inbound: inbound.tag,
      protocol: inbound.protocol,
      index,
      name,
      label: kind.name === undefined ? undefined : name,
      shown: name,
    },
    kind,
    secret,
    notes,
  };
}

function isSameSecret(written: string, secret: string, kind: UserForm): boolean {
  if (kind.secret !== 'id') return written === secret;
  const id = parseUuid(secret);
  return id !== undefined && parseUuid(written) === id;
}

/** The longest name in characters. */
const MAX_NAME = 128;

function refuseName(name: string, kind: UserForm): void {
  const refuse = (why: string): never => {
    throw new UserError('invalid_name', `a user cannot be called ${quoted(name)}: ${why}`);
  };
  if (name.trim() === '') refuse('the name is empty');
  if (name !== name.trim()) refuse('it begins or ends with white space');
  if (name.length > MAX_NAME) refuse(`it is longer than ${MAX_NAME} characters`);
  if (name !== printable(name)) refuse('it has characters that cannot be printed');
  if (name.startsWith('#')) refuse('"#" and a number stand for users without a name');
  const reason = kind.refusedName?.(name);
  if (reason !== undefined) refuse(reason);
}

/**
 * Notes on adding a user.
 * @throws {UserError} when existing clients could no longer log in, unless `force`
 */
const notesOnAdding = ({ inbound, kind, elements }: OpenInbound, force: boolean) =>
  notesOn(
    kind.onAdd?.(`inbound ${quoted(inbound.tag)}`, inbound.settings, elements.length === 0),
    force ? undefined : '--force adds the user',
  );

/** @param unforced the hint for an edit that has to be forced; `undefined` if it is */
function notesOn(edit: UserEdit | undefined, unforced: string | undefined): readonly string[] {
  if (!edit) return [];
  const { message, kind } = edit;
  if (kind === 'impossible') throw new UserError('meaning', message);
  if (kind === 'forced' && unforced !== undefined) {
    throw new UserError('meaning', message, { hint: unforced });
  }
  return [message];
}

/** The text after a removal. */
interface RemovedUser extends Omit<EditedUsers, 'secret'> {
  /** The line on which the user began, from 1. */
  readonly line: number;
}

/** A user in the file, by name. */
interface NamedUser {
  readonly inbound: string;
  /** The name, or the value of `WrittenUser.shown`. */
  readonly name: string;
}

/**
 * Removes a user.
 * @param force also if others than the remaining users could then log in
 * @throws {ConfigError | UserError} when nothing is to be changed
 */
export function removeUser(
  source: SourceText,
  named: NamedUser & { readonly force: boolean },
): RemovedUser {
  const open = openInbound(new ConfigInbounds(source), named.inbound);
  const user = findUser(open, named.name);
  const notes = notesOnRemoving(open, named.force);
  const start = open.elements[user.index]?.start ?? 0;
  const line = source.text.slice(0, start).split('\n').length;
  return { text: open.list.remove(user.index), user, kind: open.kind, notes, line };
}

/**
 * Gives a user another secret.
 * @throws {ConfigError | UserError} when nothing is to be changed
 */
export function rotateUser(
  source: SourceText,
  { inbound, name, secret }: NamedUser & Pick<NewUser, 'secret'>,
): EditedUsers {
  const open = openInbound(new ConfigInbounds(source), inbound);
  const user = findUser(open, name);
  const { kind, list } = open;
  const made = secret(kind, open.inbound.settings.get('method'));
  return { text: list.set(user.index, kind.secret, made), user, kind, secret: made, notes: [] };
}

function findUser(open: OpenInbound, name: string): WrittenUser {
  const users = usersOf(open);
  const which = `inbound ${quoted(open.inbound.tag)}`;
  const called = users.filter((user) => user.name === name);
  const found = called.length > 0 ? called : users.filter((user) => isMeant(user, name, open));
  const [user, ...others] = found;
  if (!user) {
    const meant = suggestion(
      name,
      users.map((each) => each.shown),
    );
    const hint = meant === undefined ? undefined : `did you mean ${quoted(meant)}?`;
    throw new UserError('unknown_user', `${which} has no user ${quoted(name)}`, { hint });
  }
  if (others.length === 0) return user;
  const numbers = found.map(({ index }) => `#${index + 1}`).join(', ');
  const message = `${which} has ${found.length} users ${quoted(name)}: choose one by its number, ${numbers}`;
  throw new UserError('ambiguous', message);
}

/** Whether a name means a user without that name: by number, by id or by the start of the id. */
function isMeant(user: WrittenUser, name: string, { elements, kind }: OpenInbound): boolean {
  if (name === `#${user.index + 1}` || (user.name === undefined && name === user.shown))
    return true;
  if (kind.secret !== 'id') return false;
  const id = parseUuid(name);
  return id !== undefined && parseUuid(elements[user.index]?.values.get('id') ?? '') === id;
}

/**
 * Notes on removing a user.
 * @throws {UserError} when others than the remaining users could log in, unless `force`
 */
function notesOnRemoving({ inbound, kind, elements }: OpenInbound, force: boolean) {
  if (elements.length > 1) return [];
  const which = `inbound ${quoted(inbound.tag)}`;
  const edit = kind.onRemoveLast?.(which, inbound.settings);
  if (edit === 'unchanged') return [];
  if (!edit) return [`${which} has no user any more, so it rejects every client`];
  return notesOn(edit, force ? undefined : '--force removes the user');
}
