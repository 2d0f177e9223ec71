import { HELP_OPTION, type CommandSpec } from '../command.ts';

export const COMPLETION = {
  name: 'completion',
  operands: 'bash|zsh|fish',
  summary: 'print a script that completes command lines in a shell',
  options: HELP_OPTION,
} as const satisfies CommandSpec;
