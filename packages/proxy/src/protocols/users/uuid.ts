import { converted, type Decoder, secret } from '../../schema/decoder.ts';
import { type TableNode, textAt } from '../../schema/node.ts';
import type { SettingsWarning } from '../protocol.ts';
import { repeated } from './account-settings.ts';

const SIMPLE = /^[0-9a-f]{32}$/i;
const HYPHENATED = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const DECORATED = /^(?:\{([^{}]*)\}|urn:uuid:(.*))$/s;

/**
 * Returns the 32 lower-case hex digits of a UUID in any allowed form: hyphenated, without hyphens,
 * hyphenated in braces, or hyphenated after a lower-case `urn:uuid:`. `undefined` for anything
 * else.
 */
export function parseUuid(text: string): string | undefined {
  const [, braced, named] = DECORATED.exec(text) ?? [];
  const bare = braced ?? named ?? text;
  if (!HYPHENATED.test(bare) && !SIMPLE.test(text)) return undefined;
  return bare.replaceAll('-', '').toLowerCase();
}

/** Returns the 16 bytes of a UUID that `parseUuid` returned. */
export const uuidBytes = (digits: string): Buffer => Buffer.from(digits, 'hex');

/** Returns the hyphenated form of a UUID that `parseUuid` returned. */
export const hyphenated = (digits: string): string =>
  digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

export const UUID_HINT =
  'a UUID has 32 hex digits, as in 0b1c6d5e-4f3a-4b2c-9d8e-7f6a5b4c3d2e: uuidgen makes one, and both ends have the same';

/** A UUID that is a credential: error messages do not quote it. */
export const uuid: Decoder<string> = converted(secret, (text, reject) => {
  const digits = parseUuid(text);
  if (digits === undefined) throw reject('invalid uuid', UUID_HINT);
  return digits;
});

/** Warnings for users that repeat the id of an earlier one of `users`. */
export const repeatedIds = (table: TableNode): Iterable<SettingsWarning> =>
  repeated(
    table,
    'users',
    (user) => parseUuid(textAt(user, 'id') ?? ''),
    'a user above has the same id',
  );
