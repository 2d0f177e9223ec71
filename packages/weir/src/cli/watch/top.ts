import { basename } from 'node:path';
import { followLog } from '@weir/server/control';
import { findRunning } from '@weir/client/running';
import { hintsOf, type WeirError } from '@weir/base';
import { FailingOutbounds, SharedLog } from '@weir/client/monitor';
import { RunningMonitor } from '@weir/client/monitor/running-monitor';
import { systemClock } from '@weir/io/time';
import { printableLines } from '@weir/base/printable';
import { printOnce, runInTerminal, type TopParts } from '@weir/watch/top';
import { commandOf, type CommandIo, optionLines, parserOf } from '../command.ts';
import { searchOf } from '../running-options.ts';
import { TOP } from './specs.ts';

const TOP_HELP = `weir top, which shows and steers a running Weir in a terminal

Usage: weir top [options]

The key ? lists the keys. Every change is shown with its effect and its command before it is made.
Where the input or the output is not a terminal, or TERM is dumb, it prints once what it would show,
and ends. NO_COLOR leaves colours away.

Options:
${optionLines(TOP.options)}`;

const parseTop = parserOf(TOP, (values) => values);

/**
 * `weir top`: runs until the user quits or a signal ends it. Resolves with the exit status.
 * @throws {UsageError}
 */
export const topCommand = commandOf(TOP.name, TOP_HELP, parseTop, async (values, io) => {
  const running = await findRunning({ ...searchOf(values), env: io.env });
  if (running.problem) note(running.problem, io);
  if (values.listen !== undefined) {
    io.stderr.write('weir top: --listen has no effect: this program listens nowhere\n');
  }
  const monitor = RunningMonitor.of(running);
  const failing = new FailingOutbounds();
  const log = new SharedLog(
    async function* (signal) {
      const { socket } = running;
      if (socket !== undefined) yield* followLog(socket, { tail: true, signal });
    },
    systemClock,
    (entry) => failing.note(entry),
  );
  using _ = log.hold();
  const parts: TopParts = {
    running,
    monitor,
    failing,
    readOnly: values['read-only'] === true,
    name: running.config === undefined ? 'Weir' : basename(running.config),
    clock: systemClock,
    hasColour: (io.env['NO_COLOR'] ?? '') === '',
  };
  const isTerminal =
    io.stdout === process.stdout &&
    process.stdout.isTTY &&
    process.stdin.isTTY &&
    io.env['TERM'] !== 'dumb';
  return await (isTerminal ? runInTerminal(parts) : printOnce(parts, io.stdout));
});

function note(problem: WeirError, { stderr }: CommandIo): void {
  stderr.write(`${printableLines(`weir top: ${problem.message}`)}\n`);
  for (const hint of hintsOf(problem)) stderr.write(`${printableLines(`hint: ${hint}`)}\n`);
}
