import type { LoggedLine } from '../../app/control/messages.ts';
import type { LogLevel } from '../../log/logger.ts';

/** An entry of the log: a line, or a gap of lost lines. */
export type LogEntry =
  | (LoggedLine & { readonly id: number })
  | {
      readonly kind: 'lost';
      readonly id: number;
      readonly at: number;
      /** Number of lost lines; `undefined` if unknown, because the log was not followed for a time. */
      readonly lost: number | undefined;
    };

/** Levels in the order of verbosity, least verbose first. */
export const LOG_LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const satisfies LogLevel[];
