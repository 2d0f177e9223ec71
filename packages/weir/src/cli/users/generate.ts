import { loadForms } from '@weir/proxy/protocols';
import { join, resolve } from 'node:path';
import { selfSigned } from '@weir/crypto/self-signed';
import { SystemRandomSource, type RandomSource } from '@weir/base/random';
import { printable, printableJson, quoted } from '@weir/base/printable';
import { findMethod, METHODS, type MethodName } from '@weir/proxy/protocols/shadowsocks/methods';
import { examineCertificate, shareLink } from '@weir/nodes/share';
import {
  commandLines,
  commandOf,
  optionLines,
  subcommandParser,
  type SubcommandValues,
} from '../command.ts';
import { UsageError } from '@weir/base';
import { makeFolder, writeFiles, type OutputFile } from '../write-files.ts';
import { password, presharedKey, uuid, wireguardKeys } from '@weir/nodes/accounts/new-secrets';
import {
  clientText,
  fileNames,
  serverText,
  plannedHost,
  planServer,
  type FileArguments,
  type ServerArguments,
} from './server-files.ts';
import { hostOf, portOf } from '../option-values.ts';
import {
  GENERATE,
  SERVER_PROTOCOLS,
  LENGTH_OPTION,
  FILE_OPTIONS,
  DAYS_OPTION,
  SERVER_OPTIONS,
  type ServerProtocol,
} from './specs.ts';

const GENERATE_HELP = `weir generate, secrets from the system's random source

Usage: weir generate WHAT [options]

What:
${commandLines(GENERATE.commands)}
Options:
${optionLines(GENERATE.options)}
Options of password:
${optionLines(LENGTH_OPTION)}
Options of certificate:
${optionLines({ ...DAYS_OPTION, ...FILE_OPTIONS })}
Options of server:
${optionLines({ ...SERVER_OPTIONS, ...DAYS_OPTION, ...FILE_OPTIONS })}
Without --output a certificate and its key are printed, one file for both cert_file and key_file;
server writes into the current folder. Keys and configurations are for their owner alone.
`;

const parseGenerate = subcommandParser(GENERATE, (name, values, operands) => ({
  what: toGenerated(name, operands, values),
  json: values.json ?? false,
}));

function toGenerated(
  name: (typeof GENERATE.commands)[number]['name'],
  operands: readonly string[],
  values: Values,
) {
  switch (name) {
    case 'uuid':
    case 'wireguard':
      return { kind: name };
    case 'password': {
      const length = numberOf('length', values.length ?? '24', SHORTEST_PASSWORD, 1024);
      return { kind: name, length };
    }
    case 'psk':
      return { kind: name, method: operands[0] ?? '' };
    case 'certificate':
      if (operands.length === 0) throw new UsageError('generate certificate needs a NAME');
      return { kind: name, names: operands.map(toCertificateName), ...toFiles(values) };
    case 'server':
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
  throw new UsageError(`--${option} takes ${least} to ${most}, not ${JSON.stringify(text)}`);
}

type Generated = ReturnType<typeof toGenerated>;

type Values = SubcommandValues<typeof GENERATE>;

/** The output: text, or with `--json` an object. */
interface Result {
  readonly text: string;
  readonly json: object;
  /** Notes for standard error. */
  readonly notes?: readonly string[];
}

/**
 * `weir generate`. Resolves with the exit status: 1 when files cannot be written.
 * @throws {UsageError}
 */
export const generateCommand = commandOf(
  GENERATE.name,
  GENERATE_HELP,
  parseGenerate,
  async ({ what, json }, io) => {
    const { text, json: object, notes = [] } = await generate(what, new SystemRandomSource());
    io.stdout.write(json ? `${printableJson(object)}\n` : text);
    for (const note of notes) io.stderr.write(`weir generate: ${printable(note)}\n`);
    return 0;
  },
);

async function generate(what: Generated, random: RandomSource): Promise<Result> {
  switch (what.kind) {
    case 'uuid':
      return single('uuid', uuid(random));
    case 'password':
      return single('password', password(random, what.length));
    case 'psk':
      return single('password', presharedKey(random, toMethod(what.method)));
    case 'wireguard': {
      const { privateKey, publicKey, presharedKey: shared } = wireguardKeys(random);
      return {
        text: `PrivateKey = ${privateKey}\nPublicKey = ${publicKey}\nPresharedKey = ${shared}\n`,
        json: { private_key: privateKey, public_key: publicKey, preshared_key: shared },
      };
    }
    case 'certificate':
      return generateCertificate(what.names, what, random);
    case 'server':
      return generateServer(what, random);
    default:
      return what satisfies never;
  }
}

function toMethod(text: string): MethodName {
  const method = findMethod(text);
  if (method !== undefined) return method;
  throw new UsageError(
    `unknown Shadowsocks method ${quoted(text)}; the methods are ${Object.keys(METHODS).join(', ')}`,
  );
}

const single = (key: string, value: string): Result => ({
  text: `${value}\n`,
  json: { [key]: value },
});

async function generateCertificate(
  names: readonly string[],
  { days, output, force }: FileArguments,
  random: RandomSource,
): Promise<Result> {
  const { certificate, key } = selfSigned(names, days, { random, now: Date.now() });
  if (output === undefined) {
    return { text: certificate + key, json: { certificate, key } };
  }
  const files = fileNames((names[0] ?? '').replaceAll(/[*:]/g, '_'));
  return written(output, force, [
    { path: files.certificate, text: certificate, secret: false },
    { path: files.key, text: key, secret: true },
  ]);
}

async function generateServer(asked: ServerArguments, random: RandomSource): Promise<Result> {
  const { name, days, output = '.', force } = asked;
  await loadForms();
  const host = plannedHost(asked);
  const { certificate, key } = selfSigned([host], days, { random, now: Date.now() });
  const { leaf } = examineCertificate(certificate, () => []);
  const plan = planServer(asked, leaf, random);
  const files = fileNames(name);
  const folder = resolve(output);
  const result = await written(output, force, [
    { path: files.server, text: serverText(plan, folder), secret: true },
    { path: files.client, text: clientText(plan, folder), secret: true },
    ...(plan.hasTls
      ? [
          { path: files.certificate, text: certificate, secret: false },
          { path: files.key, text: key, secret: true },
        ]
      : []),
  ]);
  const links = plan.inbounds.map(({ server }) => shareLink(server));
  return {
    text: result.text,
    json: { ...result.json, links },
    notes: [
      `the server: weir --config ${join(output, files.server)}`,
      `its users and flows: weir dashboard --config ${join(output, files.server)}`,
      plan.isTrial
        ? `a client: weir --config ${join(output, files.client)}`
        : `a client, on another machine${plan.hasTls ? ` beside ${files.certificate}` : ''}: weir --config ${files.client}`,
      ...(plan.isTrial
        ? ['it is a trial on this machine: --host makes it a server for others']
        : []),
    ],
  };
}

/** Writes files into a directory, which is created if necessary. @throws {WeirError} */
async function written(
  folder: string,
  force: boolean,
  files: readonly OutputFile[],
): Promise<Result> {
  await makeFolder(folder);
  const placed = files.map((file) => ({ ...file, path: join(folder, file.path) }));
  await writeFiles(placed, force);
  const paths = placed.map(({ path }) => path);
  return {
    text: paths.map((path) => `${printable(path)}\n`).join(''),
    json: { files: paths },
  };
}
