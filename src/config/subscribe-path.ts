import { dirname, isAbsolute, join } from 'node:path';
import type { ConfigFile } from './config-file.ts';
import { DocumentReadError } from './errors.ts';
import type { SourceText } from './source-text.ts';
import { NEEDS_PATH } from './tables/subscribe.ts';

/**
 * Where the subscribe file of a configuration is; `undefined` when it has none. A relative path starts
 * at the folder of the configuration file.
 *
 * @throws {DocumentReadError} `[subscribe] needs a path naming the subscribe file`
 */
export function subscribePath({ subscribe }: ConfigFile, source: SourceText): string | undefined {
  if (!subscribe) return undefined;
  const path = subscribe.value.path?.value ?? '';
  if (path === '') {
    const location = source.locate(subscribe.span.start);
    throw new DocumentReadError('invalid', NEEDS_PATH, { location, subject: 'subscribe' });
  }
  return isAbsolute(path) ? path : join(dirname(source.file ?? ''), path);
}
