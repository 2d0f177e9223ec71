import type { JsonValue } from './shared/protocol.ts';

/**
 * Casts a view or a result, which consists of JSON values, to `JsonValue`: TypeScript does not infer that for
 * interfaces.
 */
export const jsonOf = (view: object): JsonValue => view as JsonValue;
