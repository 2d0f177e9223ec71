import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { UsageError } from '../../errors.ts';
import { optionLines } from '../help.ts';

const REPORTS = ['text', 'json'] as const;

const OPTIONS = {
  subscribe: {
    type: 'boolean',
    summary: 'print a subscribe file: servers as nodes, rules as groups',
  },
  outbounds: {
    type: 'boolean',
    summary: 'print the servers alone, as the nodes of a subscribe file',
  },
  output: {
    type: 'string',
    short: 'o',
    value: 'FOLDER',
    summary: 'write weir.toml with picks, and nodes.toml, to this folder',
  },
  geoip: {
    type: 'string',
    value: 'FILE',
    summary: 'the geoip.dat for rules that need one',
  },
  geosite: {
    type: 'string',
    value: 'FILE',
    summary: 'the geosite.dat for rules that need one',
  },
  'user-agent': {
    type: 'string',
    value: 'TEXT',
    summary: 'what a URL is asked as; some providers answer by it',
  },
  report: {
    type: 'string',
    value: 'FORMAT',
    choices: REPORTS,
    summary: 'how to say what became of each part: text (the default) or json',
  },
  'report-file': {
    type: 'string',
    value: 'FILE',
    summary: 'write that to a file, instead of to standard error',
  },
  force: {
    type: 'boolean',
    summary:
      'replace files that exist, and succeed even if flows are dropped\nsince their target could not be imported',
  },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const IMPORT = {
  name: 'import',
  operands: 'FILE',
  summary: "print a configuration made of another program's file",
  options: OPTIONS,
} as const satisfies CommandSpec;

export const IMPORT_HELP = `weir import, other programs' files as configurations

Usage: weir import [options] FILE > weir.toml

FILE, or - for standard input, holds share links (vless, vmess, trojan, ss, hysteria2, socks,
http, https), a line each or as base64; JSON of sing-box, Xray or v2ray, or of SIP008; YAML of
Clash or mihomo; or a wg-quick file. An http or https URL as FILE is always the address of such a
document, which is fetched; the link of an HTTP proxy is read from a file or from standard input.
Servers, groups, rules, listeners and DNS are carried over where Weir means the same by them.
Everything else is left out, and named with the reason on standard error. Flows whose target
cannot be imported are dropped, never sent directly, and the exit status is then 1. Serve it by
weir --config weir.toml.

Options:
${optionLines(OPTIONS)}`;

export interface ImportArguments {
  readonly help: boolean;
  /** Path of the file; `-` for standard input, or a URL. */
  readonly file: string;
  readonly form: 'config' | 'subscribe' | 'outbounds' | 'pair';
  /** The output directory of `pair`. */
  readonly folder: string;
  readonly geoip: string | undefined;
  readonly geosite: string | undefined;
  readonly userAgent: string | undefined;
  readonly report: (typeof REPORTS)[number];
  readonly reportFile: string | undefined;
  /** Whether files may be replaced, and the exit status is 0 even if flows are dropped. */
  readonly force: boolean;
}

/** Parses the arguments of `weir import`. @throws {UsageError} for invalid arguments */
export function parseImport(argv: readonly string[]): ImportArguments {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  const { help = false, subscribe, outbounds, output, report = 'text', force = false } = values;
  if (!help) expectOperands('import', positionals, IMPORT.operands);
  const forms = [
    ...(subscribe ? ['subscribe' as const] : []),
    ...(outbounds ? ['outbounds' as const] : []),
    ...(output === undefined ? [] : ['pair' as const]),
  ];
  if (forms.length > 1) {
    throw new UsageError('--subscribe, --outbounds and --output exclude each other');
  }
  const format = REPORTS.find((each) => each === report);
  if (!format) throw new UsageError('--report takes text or json');
  return {
    help,
    file: positionals[0] ?? '',
    form: forms[0] ?? 'config',
    folder: output ?? '',
    geoip: values.geoip,
    geosite: values.geosite,
    userAgent: values['user-agent'],
    report: format,
    reportFile: values['report-file'],
    force,
  };
}
