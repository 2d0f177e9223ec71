import { ConfigError } from '../errors.ts';
import { decodeSource } from '../sources/decode-source.ts';
import { setString } from './set-string.ts';

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Writes a pick into the bytes of a configuration file, and changes nothing else in them.
 *
 * With a `[subscribe]` table the pick is a key of `[subscribe.routes]`: `default` there overrides
 * `[route].default`, which is left alone. Without one the only pick is `[route].default`.
 *
 * @param group a group of the view; only `default` without `[subscribe]`
 * @param file named in errors
 * @returns equal bytes if the file already has this pick in the same form
 * @throws {ConfigError} of kind `invalid` when the file is not UTF-8 or not TOML, when the table or
 *   a parent of it is another kind of value, or when a name cannot be encoded as UTF-8
 */
export function editPick(
  bytes: Uint8Array,
  config: { readonly subscribe: boolean },
  group: string,
  target: string,
  file?: string,
): Uint8Array {
  if (!group.isWellFormed() || !target.isWellFormed()) {
    throw new ConfigError('invalid', 'a name holds half of a surrogate pair');
  }
  const table = config.subscribe ? ['subscribe', 'routes'] : ['route'];
  const edited = Buffer.from(setString(decodeSource(bytes, file), table, group, target));
  const isMarked = BYTE_ORDER_MARK.equals(bytes.subarray(0, BYTE_ORDER_MARK.length));
  return isMarked ? Buffer.concat([BYTE_ORDER_MARK, edited]) : edited;
}
