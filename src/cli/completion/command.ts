import type { CommandIo, CommandSpec } from '../command.ts';
import { COMPLETION_HELP, parseCompletion, type Shell } from './arguments.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { positionsOf, type CommandPosition } from './positions.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS: Readonly<Record<Shell, (positions: readonly CommandPosition[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/**
 * `weir completion`: prints the script for a shell, generated from the table of commands.
 * @throws {UsageError}
 */
export function completionCommand(
  argv: readonly string[],
  io: CommandIo,
  commands: readonly CommandSpec[],
): number {
  const shell = parseCompletion(argv);
  io.stdout.write(shell === undefined ? COMPLETION_HELP : SCRIPTS[shell](positionsOf(commands)));
  return 0;
}
