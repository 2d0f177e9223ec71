import { str } from '../../schema/decoder.ts';
import { optional, struct, type Output } from '../../schema/struct.ts';
import type { LogSpec } from '../../spec.ts';
import { DecodeError } from '../../schema/errors.ts';
import type { Node } from '../../schema/node.ts';

/** `[log]` as written. The level is never refused: see `chooseFilter` for what becomes of it. */
export const logTable = struct({ level: optional(str) });
export type LogTable = Output<typeof logTable>;

/** What counts without `[log].level`. */
export const DEFAULT_LEVEL = 'info';

export const lowerLog = (table: LogTable | undefined): LogSpec => ({
  level: table?.level ?? DEFAULT_LEVEL,
});

/** The level that a document asks for, whatever else is in it; `undefined` for an invalid `[log]`. */
export function readLogLevel(document: Node): string | undefined {
  const log = document.kind === 'table' ? document.entries.get('log') : undefined;
  try {
    return lowerLog(log && logTable(log.value)).level;
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}
