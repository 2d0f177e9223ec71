import type { LoggedLine } from '../../app/control/log-messages.ts';
import type { LogLevel } from '../../log/logger.ts';

/** What a log consists of: lines, and places where some are missing. */
export type LogEntry =
  | (LoggedLine & { readonly id: number })
  | {
      readonly kind: 'lost';
      readonly id: number;
      readonly at: number;
      /** `undefined` if the number is unknown: the log was not followed for a time. */
      readonly lost: number | undefined;
    };

/** From the least to the most lines. */
export const LOG_LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const satisfies LogLevel[];
