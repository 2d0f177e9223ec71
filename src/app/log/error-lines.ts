import { ConfigError, configHints } from '../../config/errors.ts';
import { foreignFormatHint, type ForeignFormat } from '../../config/sources/foreign-format.ts';
import { hintsOf } from '../../errors.ts';
import type { Logger } from '../../log/logger.ts';

/** The formats that `weir import` reads, where there is such a command. */
export type Importable = readonly ForeignFormat[];

/**
 * Logs what helps on after an error, whose own text is specified and stands alone: lines at warn, so
 * that they are shown unless only errors are, and each error stays one line at error.
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
