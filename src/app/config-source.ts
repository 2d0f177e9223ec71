import { readFile } from 'node:fs/promises';
import { DEFAULT_CONFIG } from '../config/default-config.ts';
import { ConfigError } from '../config/errors.ts';
import { parseConfig } from '../config/parse-config.ts';
import { codeOf, messageOf } from '../errors.ts';
import type { Spec } from '../spec.ts';

/**
 * Reads and lowers a configuration file, or the built-in configuration when none is named.
 *
 * @throws {ConfigError} of kind `io` when the file cannot be read, `invalid` when it is wrong.
 */
export async function loadSpec(path: string | undefined): Promise<Spec> {
  if (path === undefined) return parseConfig(Buffer.from(DEFAULT_CONFIG), {});
  return parseConfig(await readConfig(path), { file: path });
}

async function readConfig(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new ConfigError('io', `cannot read ${path}: ${systemReason(error)}`, { cause: error });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EISDIR: 'is a directory',
  ENOTDIR: 'not a directory',
};

/** Node's texts name the system call and repeat the path. */
const systemReason = (error: unknown): string => REASONS[codeOf(error) ?? ''] ?? messageOf(error);
