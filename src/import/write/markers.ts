/*
 * Comments that say which tables `weir subscribe` may rewrite. What no such comment stands above belongs to the
 * user of the file.
 */

/** In place of a source: written by `weir import`, and no source has sent the same yet. */
export const IMPORTED = '(import)';

export const SOURCE_MARKER = '# source: ';

const MAX_SOURCE_NAME = 64;

/** Whether `name` can be the name of a source: letters, digits, `.`, `_` and `-`. */
export const isSourceName = (name: string): boolean =>
  name.length <= MAX_SOURCE_NAME && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name);
