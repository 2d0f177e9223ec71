import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { optionLines } from '../help.ts';

const OPTIONS = {
  outbounds: {
    type: 'boolean',
    summary: 'print the servers alone, as the nodes of a subscribe file',
  },
  force: {
    type: 'boolean',
    summary: 'succeed even if the default of the document could not be imported',
  },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const IMPORT = {
  name: 'import',
  operands: 'FILE',
  summary: "print a configuration made of another program's file",
  options: OPTIONS,
} as const satisfies CommandSpec;

export const IMPORT_HELP = `weir import, other programs' servers as outbounds

Usage: weir import [options] FILE > weir.toml

FILE, or - for standard input, holds share links (vless, vmess, trojan, ss, hysteria2, socks), a line
each or as base64; JSON of sing-box, Xray or v2ray; YAML of Clash or mihomo; or a wg-quick file. Only
servers are imported. Those that Weir cannot use are left out, with the reason on standard error, as are
keys that it has nothing for. When what the document uses by default cannot be imported, flows that no
rule matches are dropped, never sent directly, and the exit status is 1.

Options:
${optionLines(OPTIONS)}`;

export interface ImportArguments {
  readonly help: boolean;
  /** `-` for standard input. */
  readonly file: string;
  readonly outbounds: boolean;
  /** Whether the exit status is 0 even if the default could not be imported. */
  readonly force: boolean;
}

/** @throws {UsageError} for invalid arguments. */
export function parseImport(argv: readonly string[]): ImportArguments {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  const { help = false, outbounds = false, force = false } = values;
  if (!help) expectOperands('import', positionals, IMPORT.operands);
  return { help, file: positionals[0] ?? '', outbounds, force };
}
