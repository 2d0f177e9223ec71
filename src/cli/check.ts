import { silentLogger } from '../log/output.ts';
import { RegexCache } from '../engine/router/regex-set.ts';
import { OwnListeners } from '../net/own-listeners.ts';
import { systemClock } from '../net/clock.ts';
import { Supervisor } from '../supervisor/supervisor.ts';
import { loadOrReport } from './load.ts';

/** `--test`: builds what the configuration describes, binds nothing, and reports whether it is valid. */
export async function check(configPath: string | undefined): Promise<number> {
  const regexes = new RegexCache();
  const valid = await loadOrReport(configPath, { regexes }, async (loaded) => {
    const supervisor = new Supervisor({
      clock: systemClock,
      log: silentLogger,
      regexes,
      ownListeners: new OwnListeners(),
    });
    await supervisor.check(loaded);
    return true;
  });
  if (!valid) return 1;
  process.stdout.write('Configuration OK.\n');
  return 0;
}
