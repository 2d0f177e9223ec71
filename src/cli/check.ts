import { silentLogger } from '../log/output.ts';
import { RegexCache } from '../engine/router/regex-set.ts';
import { OwnListeners } from '../net/own-listeners.ts';
import { systemClock } from '../net/clock.ts';
import { Supervisor } from '../supervisor/supervisor.ts';
import { renderWarning } from '../config/warnings/warning.ts';
import type { Importable } from '../app/error-lines.ts';
import { loadOrReport } from './load.ts';

/**
 * `--test`: builds what the configuration describes, binds nothing, and reports whether it is valid.
 * Warnings follow the verdict on standard error. They are not lines of the log, which the configuration
 * may have silenced by the very mistake that is to be shown.
 */
export async function check(
  configPath: string | undefined,
  importable?: Importable,
): Promise<number> {
  const regexes = new RegexCache();
  const loaded = await loadOrReport(configPath, { regexes, importable }, async (loaded) => {
    const supervisor = new Supervisor({
      clock: systemClock,
      log: silentLogger,
      regexes,
      ownListeners: new OwnListeners(),
    });
    await supervisor.check(loaded);
    return loaded;
  });
  if (!loaded) return 1;
  process.stdout.write('Configuration OK.\n');
  const lines = loaded.warnings.map((warning) => `warning: ${renderWarning(warning)}\n`);
  process.stderr.write(lines.join(''));
  return 0;
}
