import { requestStatus } from '../../app/control/control-client.ts';
import { printableJson } from '../../printable.ts';
import { reportErrors, type CommandIo } from '../command.ts';
import { needServing } from '../../client/find-serving.ts';
import { parseStatus, STATUS, STATUS_HELP } from './status-arguments.ts';
import { statusText } from './status-text.ts';

/**
 * `weir status`: the state of a running Weir. Resolves with the exit status: 1 if none responds.
 * @throws {UsageError}
 */
export async function statusCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { help, socket, config, json } = parseStatus(argv);
  if (help) {
    io.stdout.write(STATUS_HELP);
    return 0;
  }
  return reportErrors(STATUS.name, io, async () => {
    const status = await requestStatus(await needServing({ socket, config, env: io.env }));
    const text = json ? `${printableJson(status)}\n` : statusText(status, Date.now());
    io.stdout.write(text);
    return 0;
  });
}
