import { Socket } from 'node:net';
import { requestReload } from '../../app/service/reload-socket.ts';
import { outcomeLine } from '../../app/service/status.ts';
import { WeirError } from '../../errors.ts';
import { printableLines } from '../../printable.ts';
import type { CommandIo } from '../command.ts';
import { parseReload, RELOAD_HELP } from './reload-arguments.ts';

/**
 * `weir reload`: reloads a running Weir and waits for the outcome. Resolves with the exit status: 1
 * if the configuration is not in effect.
 * @throws {UsageError}
 */
export async function reloadCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const path = parseReload(argv);
  if (path === undefined) {
    io.stdout.write(RELOAD_HELP);
    return 0;
  }
  try {
    const outcome = await requestReload(new Socket(), path);
    const failed = outcome.kind === 'failed';
    (failed ? io.stderr : io.stdout).write(`${printableLines(outcomeLine(outcome))}\n`);
    return failed ? 1 : 0;
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    io.stderr.write(`weir reload: ${printableLines(error.message)}\n`);
    return 1;
  }
}
