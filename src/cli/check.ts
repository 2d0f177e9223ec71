import { APP_TARGET } from '../app/log/process-log.ts';
import { loadAtStart } from '../app/loading/config-loader.ts';
import type { PreparedConfig } from '../app/loading/prepared-config.ts';
import { DEFAULT_LEVEL } from '../config/tables/log.ts';
import { chooseFilter, passes } from '../log/filter.ts';
import { printable } from '../printable.ts';
import { silentLogger } from '../log/output.ts';
import { RegexCache } from '../engine/router/tables/regex-set.ts';
import { OwnListeners } from '../net/loop-guard/own-listeners.ts';
import { systemClock } from '../net/time/clock.ts';
import { Supervisor } from '../supervisor/supervisor.ts';
import { renderWarning, type Warning } from '../config/warnings/warning.ts';
import type { Importable } from '../app/log/error-lines.ts';
import { loadOrReport } from './load.ts';

/**
 * `--test`: builds the configuration without binding anything, and reports whether it is valid.
 * Warnings follow as plain lines on standard error, if the log would show warnings of the app.
 */
export async function check(
  configPath: string | undefined,
  importable?: Importable,
): Promise<number> {
  const regexes = new RegexCache();
  const loaded = await loadOrReport(
    configPath,
    { importable },
    (path, input) => loadAtStart(path, { ...input, regexes, serveApi: true, blocking: true }),
    async (config) => {
      const supervisor = new Supervisor({
        clock: systemClock,
        log: silentLogger,
        regexes,
        ownListeners: new OwnListeners(),
      });
      await supervisor.check(config);
      return config;
    },
  );
  if (!loaded) return 1;
  process.stdout.write('Configuration OK.\n');
  const lines = shownWarnings(loaded).map(
    (warning) => `warning: ${printable(renderWarning(warning))}\n`,
  );
  process.stderr.write(lines.join(''));
  return 0;
}

/**
 * Warnings about `[log].level` itself, which may silence the log, are filtered by the default
 * level.
 */
function shownWarnings({ spec, warnings }: PreparedConfig): readonly Warning[] {
  const own = process.env['RUST_LOG'];
  const isShown = (level: string): boolean => passes(chooseFilter(own, level), APP_TARGET, 'warn');
  const [log, others] = [isShown(DEFAULT_LEVEL), isShown(spec.log.level)];
  return warnings.filter(({ id }) => (id === 'log-level' ? log : others));
}
