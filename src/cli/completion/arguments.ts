import { expectOperands, HELP_OPTION, parseOptions, type CommandSpec } from '../command.ts';
import { UsageError } from '../../errors.ts';
import { optionLines } from '../help.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

export const COMPLETION = {
  name: 'completion',
  operands: 'bash|zsh|fish',
  summary: 'print a script that completes command lines in a shell',
  options: HELP_OPTION,
} as const satisfies CommandSpec;

export const COMPLETION_HELP = `weir completion, which prints a script for a shell

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
