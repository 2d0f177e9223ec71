import { hash } from 'node:crypto';
import { array, secret, str } from '../../schema/decoder.ts';
import { type TableNode, textAt } from '../../schema/node.ts';
import { fallback, struct } from '../../schema/struct.ts';
import type { SettingsWarning } from '../protocol.ts';
import { repeated } from '../users/account-settings.ts';

export interface TrojanUser {
  readonly password: string;
  /** The label of the user's flows; empty for none. Never on the wire. */
  readonly email: string;
}

export interface TrojanInboundSettings {
  /**
   * The users in file order; of users with the same password the last counts. Without users every client is rejected.
   */
  readonly users: readonly TrojanUser[];
}

export interface TrojanOutboundSettings {
  readonly password: string;
}

/** Decodes the `settings` of a Trojan inbound. @throws {DecodeError} */
export const inboundTable = struct(
  {
    users: fallback(array(struct({ password: secret, email: fallback(str, '') })), []),
  },
  {
    users: 'Without any every client is rejected',
  },
);

/** Decodes the `settings` of a Trojan outbound. @throws {DecodeError} */
export const outboundTable = struct(
  { password: secret },
  {
    password: "One of the server's",
  },
);

/** Warnings for users that replace earlier ones. */
export const inboundWarnings = (table: TableNode): Iterable<SettingsWarning> =>
  repeated(
    table,
    'users',
    (user) => textAt(user, 'password'),
    'a user above has the same password; this entry replaces the earlier one',
  );

/** Returns the key that a client sends instead of its password: SHA-224 in lower-case hex. */
export const trojanKey = (password: string): Buffer =>
  Buffer.from(hash('sha224', password), 'latin1');
