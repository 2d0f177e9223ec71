import { requestReload } from '@weir/server/control';
import { outcomeLine } from '@weir/server/app/outcomes';
import { printableLines } from '@weir/base/printable';
import { commandOf, expectOperands, optionLines, parserOf } from '../command.ts';
import { needServing } from '@weir/client';
import { RELOAD } from './specs.ts';
import { UsageError } from '@weir/base';
import { whichOf } from '../running-options.ts';

const RELOAD_HELP = `weir reload, which waits for the outcome of a reload

Usage: weir reload [options] [SOCKET]

SOCKET is the control socket of a running Weir; it is found without one, as for --socket. The exit
status is 0 when the configuration is in force, and 1 with the reason on standard error when it is
not: the running one is kept then.

Options:
${optionLines(RELOAD.options)}`;

export const parseReload = parserOf(RELOAD, (values, operands) => {
  const [operand] = operands;
  if (operand !== undefined) {
    expectOperands(RELOAD.name, operands, 'SOCKET');
    if (values.socket !== undefined) throw new UsageError('reload takes SOCKET or --socket');
  }
  return whichOf({ ...values, socket: operand ?? values.socket });
});

/**
 * `weir reload`: reloads a running Weir and waits for the outcome. Resolves with the exit status: 1
 * if the configuration is not in effect.
 * @throws {UsageError}
 */
export const reloadCommand = commandOf(
  RELOAD.name,
  RELOAD_HELP,
  parseReload,
  async (parsed, io) => {
    const { env } = io;
    const outcome = await requestReload(await needServing({ ...parsed, env }));
    const failed = outcome.kind === 'failed';
    (failed ? io.stderr : io.stdout).write(`${printableLines(outcomeLine(outcome))}\n`);
    return failed ? 1 : 0;
  },
);
