import { ConfigError, configHints } from '@weir/config';
import { type ForeignFormat, foreignFormatHint } from '@weir/config/documents';
import { renderWarning, type Warning } from '@weir/config/load';
import { hintsOf } from '@weir/base';
import type { Logger } from '@weir/base/log';

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

/**
 * Logs the warnings of each configuration that is applied: new ones at `warn`, those of the previous
 * configuration at `debug`, so that reloads do not repeat them. Positions are not compared, since lines move
 * when a file is edited.
 */
export class WarningLog {
  readonly #log: Logger;
  #last: ReadonlySet<string> = new Set();

  constructor(log: Logger) {
    this.#log = log;
  }

  log(warnings: readonly Warning[]): void {
    const logged = new Set<string>();
    for (const warning of warnings) {
      const { id, message } = warning;
      // Numbers of rules and lines change too.
      const key = `${id} ${message.replaceAll(/(?<=\[|\bline )\d+/g, '')}`;
      logged.add(key);
      this.#log[this.#last.has(key) ? 'debug' : 'warn'](renderWarning(warning));
    }
    this.#last = logged;
  }
}
