import { renderWarning, type Warning } from '../../config/warnings/warning.ts';
import type { Logger } from '../../log/logger.ts';

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
