import { checkConfig } from '@weir/server/edits';
import { APP_TARGET } from '@weir/server/app/log/process-log';
import type { PreparedConfig } from '@weir/server/loading';
import { DEFAULT_LEVEL, renderWarning, type Warning } from '@weir/config/load';
import { chooseFilter, passes } from '@weir/base/log';
import { printable } from '@weir/base/printable';
import type { Importable } from '@weir/server/app/log/error-lines';
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
  limitsPath?: string,
): Promise<number> {
  const loaded = await loadOrReport(configPath, (path, input) => checkConfig(path, input), {
    importable,
  });
  if (!loaded) return 1;
  if (limitsPath !== undefined && !(await checkLimits(limitsPath))) return 1;
  io.stdout.write('Configuration OK.\n');
  const lines = shownWarnings(loaded).map(
    (warning) => `warning: ${printable(renderWarning(warning))}\n`,
  );
  io.stderr.write(lines.join(''));
  return 0;
}

/** Reads a limits file as a start would; logs its error. */
async function checkLimits(path: string): Promise<boolean> {
  const { readLimitsAtStart } = await import('@weir/server/limits');
  const spec = await loadOrReport(path, (_, { files }) => readLimitsAtStart(path, files));
  return spec !== undefined;
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
