import { resolve } from 'node:path';
import { jsonOf, type ConfigSource } from '@weir/config/documents';
import { ControlError } from '@weir/server/api/contract';
import { toControlError } from '@weir/server/app/outcomes';

const EXPECTED =
  'give the path of a file, { text } with the TOML of one, or an object with its tables';

/**
 * Checks what a host program gives as a configuration, of any type.
 * @param call the call that it is an argument of, for errors
 * @throws {ControlError} `invalid`, which says what to give; for an object with the key path of a value that no file
 * could contain
 */
export function toConfigSource(config: unknown, call: string): ConfigSource {
  if (typeof config === 'string' && config !== '') return { path: config };
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw new ControlError('invalid', `${call}: config is ${kindOf(config)}; ${EXPECTED}`);
  }
  if (Object.hasOwn(config, 'text')) return ofText(config, call);
  try {
    return { json: jsonOf(config) };
  } catch (error) {
    throw toControlError(error);
  }
}

function ofText(config: object, call: string): ConfigSource {
  const { text, directory, ...others } = config as Record<string, unknown>;
  const [other] = Object.keys(others);
  if (typeof text !== 'string') {
    throw new ControlError('invalid', `${call}: config.text is ${kindOf(text)}; give TOML`);
  }
  if (directory !== undefined && typeof directory !== 'string') {
    const message = `${call}: config.directory is ${kindOf(directory)}; give a path`;
    throw new ControlError('invalid', message);
  }
  if (other !== undefined) {
    const message = `${call}: config has text, beside which only directory is allowed, not ${other}`;
    throw new ControlError('invalid', message);
  }
  const bytes = Buffer.from(text);
  return directory === undefined ? { bytes } : { bytes, directory: resolve(directory) };
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === '') return 'empty';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}

/** The result of `typeof` for an option; `undefined` where another function checks it. */
export type OptionType = 'function' | 'number' | 'string' | undefined;

/**
 * Checks the names and types of the options of a call, which a host program may have called without any.
 * @throws {ControlError} `invalid`
 */
export function checkOptions(
  options: unknown,
  call: string,
  types: Readonly<Record<string, OptionType>>,
): asserts options is object {
  if (typeof options !== 'object' || options === null) {
    const example = "{ config: 'weir.toml' }";
    throw new ControlError('invalid', `${call} takes an object such as ${example}; ${EXPECTED}`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(types, name)) {
      const known = Object.keys(types).join(', ');
      throw new ControlError('invalid', `${call} has no option ${name}; its options are ${known}`);
    }
    const type = types[name];
    if (type !== undefined && value !== undefined && typeof value !== type) {
      throw new ControlError('invalid', `${call}: ${name} is ${kindOf(value)}; give a ${type}`);
    }
  }
}
