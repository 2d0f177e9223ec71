import { loadSpec } from '../app/config-source.ts';
import { processLogger } from '../app/process-log.ts';
import { ConfigError, renderConfigError } from '../config/errors.ts';
import type { Spec } from '../spec.ts';

/** Reads the configuration of a command; an invalid one is reported, and gives nothing. */
export async function loadOrReport(configPath: string | undefined): Promise<Spec | undefined> {
  try {
    return await loadSpec(configPath);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    processLogger(undefined).error(`configuration invalid: ${renderConfigError(error)}`);
    return undefined;
  }
}
