import {
  type Decoded,
  DecodeError,
  disclosed,
  located,
  narrowed,
  type Node,
  optional,
  str,
  struct,
} from '@weir/proxy/schema';
import type { LogSpec } from '@weir/proxy/spec';

/** The table `[log]` as written. Any level is accepted: see `chooseFilter`. */
export const logTable = struct(
  { level: optional(narrowed(located(disclosed(str)), { default: 'info' })) },
  {
    level:
      'A filter in the syntax of RUST_LOG: off, error, warn, info, debug, trace, and target=level',
  },
);
export type LogTable = Decoded<typeof logTable>;

/** The default of `[log].level`. */
export const DEFAULT_LEVEL = 'info';

export const lowerLog = (table: LogTable | undefined): LogSpec => ({
  level: table?.level?.value ?? DEFAULT_LEVEL,
});

/**
 * Returns the level that a document sets, even if the rest is invalid; `undefined` for an invalid `[log]`.
 */
export function readLogLevel(document: Node): string | undefined {
  const log = document.kind === 'table' ? document.entries.get('log') : undefined;
  try {
    return lowerLog(log && logTable(log.value)).level;
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}
