import { RegexCache } from '@weir/proxy/names';
import { silentLogger } from '@weir/base/log';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { systemClock } from '@weir/io/time';
import { Supervisor } from '../supervisor/supervisor.ts';
import { loadAtStart } from './loading/config-loader.ts';
import type { PreparedConfig } from './loading/tasks.ts';

/** Options of `loadAtStart` except those that a check fixes. */
export type CheckInput = Omit<
  Parameters<typeof loadAtStart>[1],
  'regexes' | 'serveApi' | 'blocking'
>;

/**
 * Checks a configuration as `--test` does: loads and builds it without binding anything.
 *
 * @param path path of the file, which errors name; `undefined` for the built-in configuration
 * @throws {ConfigError} for an invalid configuration or a file that cannot be read
 * @throws {ApplyError} when a part cannot be built
 */
export async function checkConfig(
  path: string | undefined,
  input: CheckInput = {},
): Promise<PreparedConfig> {
  const regexes = new RegexCache();
  const config = await loadAtStart(path, { ...input, regexes, serveApi: true, blocking: true });
  const supervisor = new Supervisor({
    clock: systemClock,
    log: silentLogger,
    regexes,
    ownListeners: new OwnListeners(),
  });
  await supervisor.check(config);
  return config;
}
