import {
  chooseSubcommand,
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { UsageError } from '../../errors.ts';
import { commandLines, optionLines } from '../help.ts';
import { hostOf, portOf } from '../option-values.ts';

/** Protocols for which `generate server` has a secure configuration. */
const SERVER_PROTOCOLS = ['vless', 'vmess', 'trojan', 'shadowsocks', 'hysteria2', 'http'] as const;

export type ServerProtocol = (typeof SERVER_PROTOCOLS)[number];

const LENGTH_OPTION = {
  length: { type: 'string', value: 'N', summary: 'characters, 24 unless given' },
} as const satisfies OptionTable;

const FILE_OPTIONS = {
  output: { type: 'string', short: 'o', value: 'FOLDER', summary: 'write files into FOLDER' },
  force: { type: 'boolean', summary: 'replace files that exist' },
} as const satisfies OptionTable;

const DAYS_OPTION = {
  days: {
    type: 'string',
    value: 'N',
    summary: 'how long the certificate is valid, 825 unless given',
  },
} as const satisfies OptionTable;

const SERVER_OPTIONS = {
  protocol: {
    type: 'string',
    value: 'LIST',
    summary: `with commas between: ${SERVER_PROTOCOLS.join(', ')}`,
  },
  name: { type: 'string', value: 'NAME', summary: 'of the server, and of its files' },
  host: {
    type: 'string',
    value: 'HOST',
    summary:
      'the name or the address that clients dial; without it the\n' +
      'server is a trial on 127.0.0.1',
  },
  'port-base': {
    type: 'string',
    value: 'PORT',
    summary: 'this port and the following ones, not the usual ones',
  },
} as const satisfies OptionTable;

const COMMON_OPTIONS = {
  json: { type: 'boolean', summary: 'print one line of JSON' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

const COMMANDS = [
  { name: 'uuid', operands: '', summary: 'an id of VLESS and VMess', options: {} },
  {
    name: 'password',
    operands: '',
    summary: 'random letters and digits',
    options: LENGTH_OPTION,
  },
  {
    name: 'psk',
    operands: 'METHOD',
    summary: 'the key or the password of a Shadowsocks method',
    options: {},
  },
  {
    name: 'wireguard',
    operands: '',
    summary: 'a private key, its public key, and a preshared key',
    options: {},
  },
  {
    name: 'certificate',
    operands: 'NAME...',
    summary: 'a self-signed certificate for names and addresses, and its key',
    options: { ...DAYS_OPTION, ...FILE_OPTIONS },
  },
  {
    name: 'server',
    operands: '',
    summary: 'files of a server and of its client, with all secrets',
    options: { ...SERVER_OPTIONS, ...DAYS_OPTION, ...FILE_OPTIONS },
  },
] as const satisfies readonly CommandSpec[];

export const GENERATE = {
  name: 'generate',
  operands: 'WHAT',
  summary: 'make ids, passwords, keys, certificates, or files of a server',
  options: COMMON_OPTIONS,
  commands: COMMANDS,
} as const satisfies CommandSpec;

export const GENERATE_HELP = `weir generate, secrets from the system's random source

Usage: weir generate WHAT [options]

What:
${commandLines(COMMANDS)}
Options:
${optionLines(COMMON_OPTIONS)}
Options of password:
${optionLines(LENGTH_OPTION)}
Options of certificate:
${optionLines({ ...DAYS_OPTION, ...FILE_OPTIONS })}
Options of server:
${optionLines({ ...SERVER_OPTIONS, ...DAYS_OPTION, ...FILE_OPTIONS })}
Without --output a certificate and its key are printed, one file for both cert_file and key_file;
server writes into the current folder. Keys and configurations are for their owner alone.
`;

export interface FileArguments {
  readonly output: string | undefined;
  readonly force: boolean;
  /** Days for which a certificate is valid. */
  readonly days: number;
}

export interface ServerArguments extends FileArguments {
  readonly kind: 'server';
  /** Protocols of the inbounds, without duplicates. */
  readonly protocols: readonly ServerProtocol[];
  /** Prefix of file names. */
  readonly name: string;
  /** The host in the form of flows: an address, or a name in ASCII. */
  readonly host: string | undefined;
  readonly portBase: number | undefined;
}

export type Generated =
  | { readonly kind: 'help' | 'uuid' | 'wireguard' }
  | { readonly kind: 'password'; readonly length: number }
  | { readonly kind: 'psk'; readonly method: string }
  | (FileArguments & {
      readonly kind: 'certificate';
      /** At least one host in the form of flows; the first label of a name may be `*`. */
      readonly names: readonly string[];
    })
  | ServerArguments;

export interface GenerateArguments {
  readonly what: Generated;
  readonly json: boolean;
}

/** Parses the arguments of `weir generate`. @throws {UsageError} for invalid arguments */
export function parseGenerate(argv: readonly string[]): GenerateArguments {
  const parsed = parse(argv);
  const { values } = parsed;
  const { json = false } = values;
  if (values.help === true) return { what: { kind: 'help' }, json };
  const { chosen, operands } = chooseSubcommand(GENERATE, parsed);
  return { what: toGenerated(chosen.name, operands, values), json };
}

function toGenerated(
  name: (typeof COMMANDS)[number]['name'],
  operands: readonly string[],
  values: Values,
): Generated {
  switch (name) {
    case 'uuid':
    case 'wireguard':
      expectOperands(`generate ${name}`, operands);
      return { kind: name };
    case 'password': {
      expectOperands('generate password', operands);
      const length = numberOf('length', values.length ?? '24', SHORTEST_PASSWORD, 1024);
      return { kind: name, length };
    }
    case 'psk':
      expectOperands('generate psk', operands, 'METHOD');
      return { kind: name, method: operands[0] ?? '' };
    case 'certificate':
      if (operands.length === 0) throw new UsageError('generate certificate needs a NAME');
      return { kind: name, names: operands.map(toCertificateName), ...toFiles(values) };
    case 'server':
      expectOperands('generate server', operands);
      return toServer(values);
    default:
      return name satisfies never;
  }
}

/** 47 bits: shorter passwords can be found by brute force. */
const SHORTEST_PASSWORD = 8;
/** Apple's browsers reject server certificates that are valid for longer. */
const DAYS = '825';
const MOST_DAYS = 36_500;

function toCertificateName(text: string): string {
  if (!text.startsWith('*.')) return hostOf('NAME', text);
  return `*.${hostOf('NAME', text.slice(2))}`;
}

function toFiles({ output, force = false, days = DAYS }: Values): FileArguments {
  if (output === '') throw new UsageError('--output needs the name of a folder');
  return { output, force, days: numberOf('days', days, 1, MOST_DAYS) };
}

/** Names that are valid for files on every system. */
const SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

function toServer(values: Values): ServerArguments {
  const { protocol, name, host, 'port-base': portBase } = values;
  if (protocol === undefined || name === undefined) {
    const missing = [
      ...(protocol === undefined ? ['--protocol LIST'] : []),
      ...(name === undefined ? ['--name NAME'] : []),
    ];
    throw new UsageError(`generate server needs ${missing.join(' and ')}`);
  }
  if (!SERVER_NAME.test(name)) {
    throw new UsageError(
      `--name has letters, digits, dots, hyphens and underscores, not ${JSON.stringify(name)}`,
    );
  }
  const protocols = [...new Set(protocol.split(',').map((each) => toProtocol(each.trim())))];
  const files = toFiles(values);
  const base = portBase === undefined ? undefined : portOf('port-base', portBase);
  if (base !== undefined && base + protocols.length > 65_536) {
    throw new UsageError('--port-base leaves no port for each protocol');
  }
  return {
    kind: 'server',
    ...files,
    protocols,
    name,
    host: host === undefined ? undefined : hostOf('--host', host),
    portBase: base,
  };
}

function toProtocol(text: string): ServerProtocol {
  const name = text === 'hysteria' || text === 'hy2' ? 'hysteria2' : text;
  const protocol = SERVER_PROTOCOLS.find((each) => each === name);
  if (protocol !== undefined) return protocol;
  if (text === 'socks') {
    throw new UsageError('socks sends passwords and traffic in the clear: no server is made of it');
  }
  throw unknownProtocol(text);
}

const unknownProtocol = (text: string): UsageError =>
  new UsageError(
    `unknown protocol ${JSON.stringify(text)}; the protocols are ${SERVER_PROTOCOLS.join(', ')}`,
  );

function numberOf(option: string, text: string, least: number, most: number): number {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (number >= least && number <= most) return number;
  throw new UsageError(`--${option} is ${least} to ${most}, not ${JSON.stringify(text)}`);
}

type Values = ReturnType<typeof parse>['values'];

const parse = (argv: readonly string[]) =>
  parseOptions(argv, {
    ...COMMON_OPTIONS,
    ...LENGTH_OPTION,
    ...SERVER_OPTIONS,
    ...DAYS_OPTION,
    ...FILE_OPTIONS,
  });
