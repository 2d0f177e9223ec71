import { str } from '../../schema/decoder.ts';
import { optional, struct, type Output } from '../../schema/struct.ts';
import type { LogSpec } from '../../spec.ts';

/** `[log]` as written. The level is never refused: see `chooseFilter` for what becomes of it. */
export const logTable = struct({ level: optional(str) });
export type LogTable = Output<typeof logTable>;

const DEFAULT_LEVEL = 'info';

export const lowerLog = (table: LogTable | undefined): LogSpec => ({
  level: table?.level ?? DEFAULT_LEVEL,
});
