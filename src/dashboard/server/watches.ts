import { LocalHttpError } from '../../local-http/local-http-error.ts';
import type { JsonValue, Watch } from '../shared/protocol.ts';

/** Maximum number of watches of one page. */
const MAX_WATCHES = 32;
/** Maximum size in bytes of the list of watches in JSON. */
export const MAX_WATCHES_BYTES = 64 << 10;

/** Maximum nesting of parameters; those of pages have three levels. */
const MAX_DEPTH = 16;

/**
 * Checks the parameters that a page sends: their nesting is bounded, so that comparing them may recurse.
 * @throws {LocalHttpError} 400
 */
export function checkedParameters(value: unknown): JsonValue {
  if (!isShallow(value, MAX_DEPTH)) {
    throw new LocalHttpError(400, 'bad-request', 'the parameters are nested too deeply');
  }
  return value as JsonValue;
}

const isShallow = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((part) => isShallow(part, levels - 1)));

/** The list of watches that a page sends. @throws {LocalHttpError} 400 */
export function parseWatches(value: unknown): readonly Watch[] {
  if (!Array.isArray(value) || value.length > MAX_WATCHES) throw invalid();
  const watches = value.map(parseWatch);
  if (new Set(watches.map(({ id }) => id)).size !== watches.length) throw invalid();
  return watches;
}

function parseWatch(value: unknown): Watch {
  if (typeof value !== 'object' || value === null) throw invalid();
  const { id, topic, parameters = null } = value as Readonly<Record<string, unknown>>;
  if (!Number.isSafeInteger(id) || typeof topic !== 'string') throw invalid();
  return { id: Number(id), topic, parameters: checkedParameters(parameters) };
}

const invalid = (): LocalHttpError =>
  new LocalHttpError(400, 'bad-request', 'the list of watches is invalid');
