import { ConfigError, configHints } from '../../config/errors.ts';
import { foreignFormatHint, type ForeignFormat } from '../../config/sources/foreign-format.ts';
import { hintsOf } from '../../errors.ts';
import type { Logger } from '../../log/logger.ts';

/** The formats that `weir import` reads. */
export type Importable = readonly ForeignFormat[];

/**
 * Logs the hints of an error at `warn`, after the error itself, whose text is specified and is one line at
 * `error`.
 */
export function logHints(error: unknown, log: Logger, importable: Importable = []): void {
  for (const hint of hints(error, importable)) log.warn(`hint: ${hint}`);
}

function hints(error: unknown, importable: Importable): readonly string[] {
  if (!(error instanceof ConfigError)) return hintsOf(error);
  const lines = configHints(error);
  if (error.format === undefined) return lines;
  return [foreignFormatHint(error.format, error.location?.file, importable), ...lines];
}
