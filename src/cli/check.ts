import { checkConfig } from '../app/check-config.ts';
import { APP_TARGET } from '../app/log/process-log.ts';
import type { PreparedConfig } from '../app/loading/tasks.ts';
import { DEFAULT_LEVEL } from '../config/tables/log.ts';
import { chooseFilter, passes } from '../log/filter.ts';
import { printable } from '../printable.ts';
import { renderWarning, type Warning } from '../config/warnings/warning.ts';
import type { Importable } from '../app/log/error-lines.ts';
import type { CommandIo } from './command.ts';
import { loadOrReport } from './load.ts';

/**
 * `--test`: builds the configuration without binding anything, and reports whether it is valid.
 * Warnings follow as plain lines on standard error, if the log would show warnings of the app.
 */
export async function check(
  configPath: string | undefined,
  io: CommandIo,
  importable?: Importable,
): Promise<number> {
  const loaded = await loadOrReport(
    configPath,
    { importable },
    (path, input) => checkConfig(path, input),
    (config) => config,
  );
  if (!loaded) return 1;
  io.stdout.write('Configuration OK.\n');
  const lines = shownWarnings(loaded).map(
    (warning) => `warning: ${printable(renderWarning(warning))}\n`,
  );
  io.stderr.write(lines.join(''));
  return 0;
}

/**
 * Warnings that the log would show. Those about `[log].level` itself, which may silence the log, are filtered by the
 * default level.
 */
function shownWarnings({ spec, warnings }: PreparedConfig): readonly Warning[] {
  const own = process.env['RUST_LOG'];
  const isShown = (level: string): boolean => passes(chooseFilter(own, level), APP_TARGET, 'warn');
  const [log, others] = [isShown(DEFAULT_LEVEL), isShown(spec.log.level)];
  return warnings.filter(({ id }) => (id === 'log-level' ? log : others));
}
