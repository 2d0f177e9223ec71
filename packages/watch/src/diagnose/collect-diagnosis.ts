import { readFile } from 'node:fs/promises';
import { arch, availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import {
  followLog,
  requestProfile,
  requestStatus,
  type ProcessProfile,
  type RunningStatus,
} from '@weir/server/control';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import { ConfigError, renderConfigError } from '@weir/config';
import {
  loadEffective,
  shownToml,
  shownString,
  STARS,
  type ShownTable,
  type ShownValue,
} from '@weir/config/effective';
import { messageOf, WeirError, codeOf, VERSION } from '@weir/base';
import { textLine } from '@weir/base/log';
import { printable, printableJsonLines, printableLines } from '@weir/base/printable';
import {
  PART_NAMES,
  type Diagnosis,
  type DiagnosisPart,
  type PartName,
  readmeText,
} from './diagnosis.ts';
import { datedNode, securityOf, buildText, type Build, ownBuild } from '@weir/io/process';
import { bytes } from '@weir/base/text/amounts';
import { createFile } from '@weir/server/files';

/** Sources and options of a diagnosis. */
interface DiagnosisSources {
  /** Path of the control socket of the running Weir; `undefined` without one. */
  readonly socket: string | undefined;
  /** The configuration file; by default the one that the running Weir reports. */
  readonly config: string | undefined;
  readonly without: ReadonlySet<PartName>;
  /** Seconds for which the processor is profiled. */
  readonly seconds: number;
  /** Whether to profile even if starting the profiler stops many flows for a moment. */
  readonly busy: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns the output of `weir tun check` for a configuration; `undefined` without a `tun` inbound. */
  readonly tunCheck: (config: string | undefined) => Promise<string | undefined>;
  /** Called before profiling begins. */
  readonly onRecording: () => void;
}

/** Milliseconds for reading the latest lines of the log. */
const LOG_MS = 5_000;

const NO_SOCKET = 'no running Weir was found by a control socket';

/**
 * Collects the available parts, and writes nothing. A part that is not available is listed as missing, with the reason.
 */
export async function collectDiagnosis(sources: DiagnosisSources): Promise<Diagnosis> {
  return new Collector(sources).collect();
}

class Collector {
  readonly #sources: DiagnosisSources;
  readonly #parts: DiagnosisPart[] = [];
  readonly #missing: { readonly name: PartName; readonly reason: string }[] = [];
  #status: RunningStatus | undefined;
  #profile: ProcessProfile | undefined;

  constructor(sources: DiagnosisSources) {
    this.#sources = sources;
  }

  async collect(): Promise<Diagnosis> {
    const { env, seconds, busy, socket } = this.#sources;
    await this.#add('status', 'status.json', async () => {
      this.#status = await requestStatus(needed(socket));
      return `${printableJsonLines(this.#status)}\n`;
    });
    await this.#add('profile', 'weir.cpuprofile', async () => {
      const path = needed(socket);
      this.#sources.onRecording();
      this.#profile = await requestProfile(path, seconds, undefined, busy);
      return JSON.stringify(this.#profile.profile);
    });
    await this.#add('heap', 'heap.json', async () => {
      // Without the profile, or when another client records one.
      this.#profile ??= await requestProfile(needed(socket), 0);
      return `${printableJsonLines(this.#profile.heap)}\n`;
    });
    // After the profile, whose recording may have logged something.
    await this.#add('log', 'log.txt', () => logText(needed(socket)));
    await this.#add('versions', 'versions.txt', () =>
      versionsText({
        weir: this.#status?.version,
        build: this.#status?.build ?? undefined,
        versions: this.#profile?.versions,
      }),
    );
    const config = this.#sources.config ?? this.#status?.config ?? undefined;
    const isBuiltIn = config === undefined && this.#status !== undefined;
    await this.#add('config', 'config.toml', () => configText(config, isBuiltIn));
    await this.#add('environment', 'environment.txt', async () => {
      const pid = this.#status?.pid;
      return pid === undefined
        ? environmentText(env, 'weir diagnose, since no Weir runs that could be asked')
        : environmentText(await environmentOf(pid), 'the running Weir');
    });
    if (config !== undefined) {
      await this.#add('tun', 'tun-check.txt', () => this.#sources.tunCheck(config));
    }
    const order = ({ name }: { readonly name: PartName }): number => PART_NAMES.indexOf(name);
    return {
      at: Date.now(),
      parts: this.#parts.toSorted((a, b) => order(a) - order(b)),
      missing: this.#missing.toSorted((a, b) => order(a) - order(b)),
    };
  }

  async #add(name: PartName, file: string, make: () => Promise<string | undefined>): Promise<void> {
    if (this.#sources.without.has(name)) {
      this.#missing.push({ name, reason: '--without' });
      return;
    }
    try {
      const text = await make();
      if (text !== undefined) this.#parts.push({ name, file, text });
    } catch (error) {
      // A diagnosis is for what does not work: the remaining parts are still useful.
      this.#missing.push({ name, reason: printable(messageOf(error)) });
    }
  }
}

/** @throws {WeirError} without a socket */
function needed(socket: string | undefined): string {
  if (socket === undefined) throw new WeirError('no_socket', NO_SOCKET);
  return socket;
}

/** The latest lines of the log, with addresses masked as there. */
async function logText(socket: string): Promise<string> {
  const lines: string[] = [];
  const signal = AbortSignal.timeout(LOG_MS);
  for await (const event of followLog(socket, { tail: true, follow: false, signal })) {
    if (event.kind !== 'line') continue;
    const { at, level, target, message } = event;
    lines.push(textLine(at, level, target, printableLines(message)));
  }
  return lines.join('');
}

/** The effective configuration, or why the file cannot be loaded; secrets are starred in both. */
async function configText(path: string | undefined, isBuiltIn: boolean): Promise<string> {
  if (path === undefined && !isBuiltIn) {
    throw new WeirError('no_config', 'no file was given with --config');
  }
  const name = printable(path ?? 'the built-in configuration');
  try {
    const { table } = await loadEffective({ path, bytes: undefined }, new FileDigests());
    return `# What is in force of ${name}, as it is on disk. Secrets are starred.\n\n${shownToml(shareable(table))}`;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const lines = printableLines(renderConfigError(error)).split('\n');
    return `# ${name} is invalid:\n${lines.map((line) => `# ${line}\n`).join('')}`;
  }
}

/** Variables whose values are settings without secrets and addresses. */
const SHOWN: ReadonlySet<string> = new Set([
  'RUST_LOG',
  'WEIR_LOG',
  'WEIR_LOG_ADDRESSES',
  'NO_COLOR',
]);

/** Variables that affect Weir. */
const NAMED =
  /^(?:WEIR_\w+|RUST_LOG|NODE_\w+|UV_\w+|SSL_CERT_\w+|NO_COLOR|JOURNAL_STREAM|NOTIFY_SOCKET|LISTEN_FDS)$/;

/** The settings of an environment, one per line; values that may be secret are left out. */
function environmentText(env: Readonly<Record<string, string | undefined>>, whose: string): string {
  const lines = Object.keys(env)
    .filter((name) => NAMED.test(name) && env[name] !== undefined)
    .sort()
    .map((name) => `${name}=${SHOWN.has(name) ? printable(env[name] ?? '') : '(set)'}`);
  const found = lines.length === 0 ? ['no variable that Weir uses is set'] : lines;
  return `# The environment of ${whose}.\n${found.join('\n')}\n`;
}

/** The environment of another process of this user. @throws the error of the system */
async function environmentOf(pid: number): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(`/proc/${pid}/environ`, 'utf8');
  return Object.fromEntries(
    text.split('\0').flatMap((line) => {
      const equals = line.indexOf('=');
      return equals > 0 ? [[line.slice(0, equals), line.slice(equals + 1)]] : [];
    }),
  );
}

/**
 * Further keys whose values give access to a server, or identify a customer of a resolver; `weir show` prints them, for
 * its user alone.
 */
const HIDDEN = new Map<string, (value: string) => string>([
  // A secret path protects the server from probes.
  ['stream.ws.path', (path) => (path === '/' ? path : STARS)],
  ['stream.grpc.service_name', () => STARS],
  // The path of a resolver often names its customer.
  ['dns.url', (url) => `${/^https?:\/\/[^/?#@]*(?=[/?#]|$)/i.exec(url)?.[0] ?? ''}/${STARS}`],
]);

/** A configuration that may be attached to a report: paths that work as passwords are starred too. */
const shareable = (table: ShownTable): ShownTable => tableOf(table, []);

function tableOf({ entries, ...table }: ShownTable, path: readonly string[]): ShownTable {
  return {
    ...table,
    entries: new Map(
      Array.from(entries, ([key, value]) => [key, valueOf(value, [...path, key])] as const),
    ),
  };
}

function valueOf(value: ShownValue, path: readonly string[]): ShownValue {
  switch (value.kind) {
    case 'table':
      return tableOf(value, path);
    case 'array':
      return { ...value, items: value.items.map((item) => valueOf(item, path)) };
    case 'scalar': {
      const hide = HIDDEN.get(path.slice(path[0] === 'dns' ? 0 : 1).join('.'));
      const { json, from } = value;
      if (!hide || typeof json !== 'string' || from === 'default') return value;
      return shownString(hide(json), from);
    }
    default:
      return value satisfies never;
  }
}

/** Versions that a running Weir reports. */
interface RunningVersions {
  readonly weir: string | undefined;
  readonly build: Build | undefined;
  /** `process.versions` of the running Weir. */
  readonly versions: Readonly<Record<string, string>> | undefined;
}

/** Versions of the programs, and of the machine without its name. */
async function versionsText({ weir, build, versions }: RunningVersions): Promise<string> {
  const { node, openssl, v8, uv } = versions ?? process.versions;
  const [processor] = cpus();
  const lines = [
    `weir: ${weir ?? 'none was asked'} (running), ${VERSION} (this command)`,
    `commit: ${commitOf(build)} (running), ${commitOf(ownBuild())} (this command)`,
    `node: ${datedNode(node)}, v8 ${v8}, libuv ${uv}${versions ? '' : ' (this command)'}`,
    securityOf(node),
    `openssl: ${openssl}`,
    `libc: ${libc()}`,
    `kernel: ${type()} ${release()}, ${arch()}`,
    `distribution: ${await distribution()}`,
    `processor: ${processor?.model ?? 'unknown'}, ${cpus().length} cores, ${availableParallelism()} for Weir`,
    `memory: ${bytes(totalmem())}`,
  ];
  return lines.map((line) => `${printable(line)}\n`).join('');
}

const commitOf = (build: Build | undefined): string => (build ? buildText(build) : 'not known');

/** Version of the C library of this process, which is that of the machine. */
function libc(): string {
  // By default the report resolves every address of the machine, which may take long.
  const report = Object.assign(process.report, { excludeNetwork: true, excludeEnv: true });
  const { header } = report.getReport() as { readonly header?: Readonly<Record<string, unknown>> };
  const version = header?.['glibcVersionRuntime'];
  return typeof version === 'string' ? `glibc ${version}` : 'not glibc';
}

async function distribution(): Promise<string> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '');
  return /^PRETTY_NAME="?([^"\n]*)/m.exec(text)?.[1] ?? 'unknown';
}

/** Readable by its owner only. */
const MODE = 0o600;

/** The name of the archive and of its directory: `weir-diagnose-20261124T040506Z`. */
export const archiveName = (at: number): string =>
  `weir-diagnose-${new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;

/** A diagnosis as a .tar.gz archive. */
export function archiveOf(diagnosis: Diagnosis): Promise<Buffer> {
  const { at, parts } = diagnosis;
  const texts = [{ file: 'README.txt', text: readmeText(diagnosis) }, ...parts];
  const files = texts.map(({ file, text }) => ({
    path: `${archiveName(at)}/${file}`,
    bytes: Buffer.from(text),
  }));
  return promisify(gzip)(tarArchive(files, at));
}

/** Writes a new file. @throws {WeirError} when it exists, or cannot be written */
export async function writeArchive(path: string, bytes: Uint8Array): Promise<void> {
  try {
    await createFile(path, bytes, MODE);
  } catch (cause) {
    const reason = codeOf(cause) === 'EEXIST' ? 'it exists already' : messageOf(cause);
    throw new WeirError('output', `cannot write ${path}: ${reason}`, { cause });
  }
}

/** A file of an archive. */
interface TarFile {
  /** Up to 100 ASCII characters, with `/` between directories. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Permission bits; 0600 by default, for the user who unpacks it only. */
  readonly mode?: number;
}

const BLOCK = 512;
const MAX_PATH = 100;
/** The largest number of eleven octal digits. */
const MAX_SIZE = 0o77_777_777_777;

const FILE_MODE = 0o600;

/**
 * An archive in the ustar format of POSIX.1-1988 (pax(1), "ustar Interchange Format"): regular files without an owner.
 *
 * @param at the modification time of all files, in Unix milliseconds
 * @throws {RangeError} for a path or a size that the format does not support
 */
export function tarArchive(files: readonly TarFile[], at: number): Buffer {
  const parts = files.flatMap(({ path, bytes, mode = FILE_MODE }) => {
    const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK);
    return [header({ path, size: bytes.length, mode }, at), bytes, padding];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

interface Entry {
  readonly path: string;
  /** Size in bytes. */
  readonly size: number;
  readonly mode: number;
}

function header({ path, size, mode }: Entry, at: number): Buffer {
  if (path.length > MAX_PATH || !/^[\x21-\x7e]+$/.test(path)) {
    throw new RangeError(`${JSON.stringify(path)} cannot be the name of a file in the archive`);
  }
  if (size > MAX_SIZE) throw new RangeError(`${path} is too long for the archive`);
  const block = Buffer.alloc(BLOCK);
  block.write(path, 0, 'latin1');
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108); // uid
  block.write(octal(0, 7), 116); // gid
  block.write(octal(size, 11), 124);
  block.write(octal(Math.floor(at / 1000), 11), 136);
  block.write(' '.repeat(8), 148); // the checksum field counts as spaces in its own sum
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');
