import { loadOrReport } from './load.ts';

/** `--test`: works out what the configuration means, binds nothing, and says whether it is valid. */
export async function check(configPath: string | undefined): Promise<number> {
  if (!(await loadOrReport(configPath))) return 1;
  process.stdout.write('Configuration OK.\n');
  return 0;
}
