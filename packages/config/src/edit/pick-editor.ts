import { editText } from './edit-text.ts';
import { removeKey, setString } from './key-editor.ts';

/**
 * Writes a pick into the bytes of a configuration file, and changes nothing else.
 *
 * With a `[subscribe]` table the pick is a key of `[subscribe.routes]`: `default` there overrides
 * `[route].default`, which is left alone. Without one the only pick is `[route].default`.
 *
 * @param group a group of the view; only `default` without `[subscribe]`
 * @param file the name of the file in errors
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
  return editText(bytes, file, (source) => setString(source, tableOf(config), group, target));
}

/**
 * Removes the pick of a group from where `editPick` writes it, and changes nothing else.
 *
 * @returns equal bytes if the file has no pick there
 * @throws {ConfigError} of kind `invalid` when the file is not UTF-8 or not TOML
 */
export function removePick(
  bytes: Uint8Array,
  config: { readonly subscribe: boolean },
  group: string,
  file?: string,
): Uint8Array {
  return editText(bytes, file, (source) => removeKey(source, tableOf(config), group));
}

const tableOf = ({ subscribe }: { readonly subscribe: boolean }): readonly string[] =>
  subscribe ? ['subscribe', 'routes'] : ['route'];
