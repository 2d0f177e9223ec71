import { array } from '../../schema/decoder.ts';
import { fallback, struct } from '../../schema/struct.ts';
import { uuid } from '../users/uuid.ts';

export interface VlessUser {
  /** The user's UUID as 32 lower-case hex digits. */
  readonly id: string;
}

export interface VlessInboundSettings {
  /** The users in file order. Without users every client is rejected. */
  readonly users: readonly VlessUser[];
}

export interface VlessOutboundSettings {
  /** The UUID as 32 lower-case hex digits. */
  readonly id: string;
}

/** Decodes the `settings` of a VLESS inbound. @throws {DecodeError} */
export const inboundTable = struct(
  { users: fallback(array(struct({ id: uuid })), []) },
  {
    users: 'Without any every client is rejected',
  },
);

/** Decodes the `settings` of a VLESS outbound. @throws {DecodeError} */
export const outboundTable = struct(
  { id: uuid },
  {
    id: 'UUID of a user of the server',
  },
);
