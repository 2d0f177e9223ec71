import { dirname, isAbsolute, join } from 'node:path';
import {
  type Decoded,
  disclosed,
  fallback,
  located,
  optional,
  record,
  str,
  struct,
} from '@weir/proxy/schema';
import { DocumentReadError } from '../errors.ts';
import type { SourceText } from '../sources/source-text.ts';

/** The table `[subscribe]` as written. */
export const subscribeTable = located(
  struct(
    {
      /** Relative to the folder of the configuration file. */
      path: optional(located(disclosed(str))),
      /** The pick of each route group, and as `default` that of the default route. */
      routes: fallback(record(located(disclosed(str))), new Map()),
    },
    {
      path: 'The subscribe file, relative to this file',
      routes: 'The pick of each route group, and as default that of the default route',
    },
  ),
);
type SubscribeTable = Decoded<typeof subscribeTable>;

/** The error of a `[subscribe]` without the path of the file. */
const NEEDS_PATH = '[subscribe] needs a path naming the subscribe file';

/** The error of a subscription's URL instead of a path; the URL contains a token, so it is not quoted. */
const IS_URL = '[subscribe] path is a URL, and has to name a file';
const ADD_URL =
  '`weir subscribe add NAME URL` fetches the nodes of a URL and writes them into the file that path names';

/**
 * Returns the path of a configuration's subscribe file; `undefined` without one. A relative path is
 * relative to the folder of the configuration file.
 *
 * @throws {DocumentReadError} if the path is missing, or is a URL
 */
export function subscribePath(
  { subscribe }: { readonly subscribe: SubscribeTable | undefined },
  source: SourceText,
): string | undefined {
  if (!subscribe) return undefined;
  const path = subscribe.value.path?.value ?? '';
  if (path === '') {
    const location = source.locate(subscribe.span.start);
    throw new DocumentReadError('invalid', NEEDS_PATH, { location, subject: 'subscribe' });
  }
  if (/^https?:\/\//i.test(path)) {
    const location = source.locate(subscribe.value.path?.span.start ?? subscribe.span.start);
    const options = { location, subject: 'subscribe', hint: ADD_URL };
    throw new DocumentReadError('invalid', IS_URL, options);
  }
  return isAbsolute(path) ? path : join(dirname(source.file ?? ''), path);
}
