import {
  type CommandSpec,
  commandOf,
  type Implementation,
  optionLines,
  parserOf,
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

const parseCompletion = parserOf(COMPLETION, (_, [name]) => {
  const shell = SHELLS.find((one) => one === name);
  if (!shell) throw new UsageError(`no completion for ${JSON.stringify(name)}`);
  return { shell };
});

const SCRIPTS: Readonly<Record<Shell, (positions: readonly CommandPosition[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/**
 * `weir completion`: prints the script for a shell, generated from the table of commands.
 * @throws {UsageError}
 */
export const completionCommand = (commands: readonly CommandSpec[]): Implementation =>
  commandOf(COMPLETION.name, COMPLETION_HELP, parseCompletion, async ({ shell }, io) => {
    io.stdout.write(SCRIPTS[shell](positionsOf(commands)));
    return 0;
  });
