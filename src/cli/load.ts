import { loadConfigFile, type LoadOptions } from '../app/config-source.ts';
import { processLogger } from '../app/process-log.ts';
import { ConfigError, renderConfigError } from '../config/errors.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { ApplyError } from '../supervisor/apply-error.ts';

/** Does `work` with the configuration of a command; an invalid one is reported, and gives nothing. */
export async function loadOrReport<T>(
  configPath: string | undefined,
  options: LoadOptions,
  work: (loaded: LoadedConfig) => T | Promise<T>,
): Promise<T | undefined> {
  try {
    return await work(await loadConfigFile(configPath, options));
  } catch (error) {
    if (error instanceof ConfigError) report(renderConfigError(error));
    else if (error instanceof ApplyError) report(error.message);
    else throw error;
    return undefined;
  }
}

/** The level of a configuration that cannot be used is not known, so the default one holds. */
function report(text: string): void {
  processLogger(undefined).error(`configuration invalid: ${text}`);
}
