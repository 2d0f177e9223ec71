import { loadConfigFile } from '../app/config-source.ts';
import { processLogger } from '../app/process-log.ts';
import { ConfigError, renderConfigError } from '../config/errors.ts';
import type { LoadedConfig } from '../config/load-config.ts';

/** Reads the configuration of a command; an invalid one is reported, and gives nothing. */
export async function loadOrReport(
  configPath: string | undefined,
): Promise<LoadedConfig | undefined> {
  try {
    return await loadConfigFile(configPath);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    processLogger(undefined).error(`configuration invalid: ${renderConfigError(error)}`);
    return undefined;
  }
}
