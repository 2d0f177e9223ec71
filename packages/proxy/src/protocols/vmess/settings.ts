import {
  array,
  converted,
  disclosed,
  located,
  secret,
  str,
  type Decoder,
  type Located,
} from '../../schema/decoder.ts';
import { PlainDecodeError } from '../../schema/errors.ts';
import type { TableNode } from '../../schema/node.ts';
import { fallback, struct } from '../../schema/struct.ts';
import { parseUuid, UUID_HINT } from '../users/uuid.ts';

export interface VmessUser {
  /** The user's UUID as `parseUuid` returns it. */
  readonly id: string;
}

export interface VmessInboundSettings {
  /** The users in file order. Without users every client is rejected. */
  readonly users: readonly VmessUser[];
}

export type VmessSecurity = 'aes-128-gcm' | 'chacha20-poly1305';

export interface VmessOutboundSettings extends VmessUser {
  /** The cipher of the body. */
  readonly security: VmessSecurity;
}

const id = located(secret);

/** Parses an id. Ids are checked after the shape of the table, so their error is not one of `invalid settings`. */
function uuidOf({ value, span }: Located<string>): string {
  const uuid = parseUuid(value);
  if (uuid !== undefined) return uuid;
  throw new PlainDecodeError(`invalid uuid ${JSON.stringify(value)}`, span, { hint: UUID_HINT });
}

export const inboundTable = struct(
  { users: fallback(array(struct({ id })), []) },
  {
    users: 'Without any every client is rejected',
  },
);

/** Decodes the `settings` of a VMess inbound. @throws {DecodeError} */
export function inboundSettings(table: TableNode): VmessInboundSettings {
  const { users } = inboundTable(table);
  return { users: users.map((user) => ({ id: uuidOf(user.id) })) };
}

const security: Decoder<VmessSecurity> = converted(disclosed(str), (text, reject) => {
  switch (text.toLowerCase()) {
    case 'aes-128-gcm':
    case 'auto':
      return 'aes-128-gcm';
    case 'chacha20-poly1305':
      return 'chacha20-poly1305';
    default:
      throw reject('unknown vmess security');
  }
});

export const outboundTable = struct(
  { id, security: fallback(security, 'aes-128-gcm') },
  {
    id: 'UUID of a user of the server',
    security: 'Cipher of the body: aes-128-gcm, auto or chacha20-poly1305',
  },
);

/** Decodes the `settings` of a VMess outbound. @throws {DecodeError} */
export function outboundSettings(table: TableNode): VmessOutboundSettings {
  const settings = outboundTable(table);
  return { id: uuidOf(settings.id), security: settings.security };
}
