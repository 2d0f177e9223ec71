import {
  type CommandIo,
  type CommandSpec,
  expectOperands,
  parseOptions,
  optionLines,
} from '../command.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { type CommandPosition, positionsOf } from './positions.ts';
import { zshScript } from './zsh.ts';
import { UsageError } from '@weir/base';
import { COMPLETION } from './specs.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

type Shell = (typeof SHELLS)[number];

const COMPLETION_HELP = `weir completion, which prints a script for a shell

Usage: weir completion bash|zsh|fish

  bash: weir completion bash > ~/.local/share/bash-completion/completions/weir
  zsh:  weir completion zsh > _weir, in a folder of $fpath
  fish: weir completion fish > ~/.config/fish/completions/weir.fish

Options:
${optionLines(COMPLETION.options)}`;

/**
 * The requested shell; `undefined` for help.
 * @throws {UsageError} for invalid arguments
 */
export function parseCompletion(argv: readonly string[]): Shell | undefined {
  const { values, positionals } = parseOptions(argv, COMPLETION.options);
  if (values.help === true) return undefined;
  expectOperands(COMPLETION.name, positionals, COMPLETION.operands);
  const shell = SHELLS.find((one) => one === positionals[0]);
  if (!shell) throw new UsageError(`no completion for ${JSON.stringify(positionals[0])}`);
  return shell;
}

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
