import { loadSpec } from '../app/config-source.ts';
import { processLogger } from '../app/process-log.ts';
import { ConfigError, renderConfigError } from '../config/errors.ts';

/** `--test`: builds what the configuration describes, binds nothing, and says whether it is valid. */
export async function check(configPath: string | undefined): Promise<number> {
  try {
    await loadSpec(configPath);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    processLogger(undefined).error(`configuration invalid: ${renderConfigError(error)}`);
    return 1;
  }
  process.stdout.write('Configuration OK.\n');
  return 0;
}
