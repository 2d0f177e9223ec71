import type { JsonValue } from './shared/protocol.ts';

/** A view or a result as JSON, which it has to be: TypeScript does not see that of interfaces. */
export const jsonOf = (view: object): JsonValue => view as JsonValue;
