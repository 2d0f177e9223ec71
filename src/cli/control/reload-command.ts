import { requestReload } from '../../app/control/control-client.ts';
import { outcomeLine } from '../../app/service/status.ts';
import { printableLines } from '../../printable.ts';
import { reportErrors, type CommandIo } from '../command.ts';
import { needServing } from '../../client/find-serving.ts';
import { parseReload, RELOAD, RELOAD_HELP } from './reload-arguments.ts';

/**
 * `weir reload`: reloads a running Weir and waits for the outcome. Resolves with the exit status: 1
 * if the configuration is not in effect.
 * @throws {UsageError}
 */
export async function reloadCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const parsed = parseReload(argv);
  if (parsed.kind === 'help') {
    io.stdout.write(RELOAD_HELP);
    return 0;
  }
  return reportErrors(RELOAD.name, io, async () => {
    const { env } = io;
    const outcome = await requestReload(await needServing({ ...parsed, env }));
    const failed = outcome.kind === 'failed';
    (failed ? io.stderr : io.stdout).write(`${printableLines(outcomeLine(outcome))}\n`);
    return failed ? 1 : 0;
  });
}
