import { loadForms } from '@weir/proxy/protocols';
import { join } from 'node:path';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { configProblem, pairProblem } from '@weir/server/loading';
import { WeirError, UsageError, VERSION } from '@weir/base';
import {
  readForeign,
  type Imported,
  LARGEST_DOCUMENT,
  reportLines,
  type ImportReport,
  NothingImported,
  toConfig,
  toNodes,
  toPair,
  toSubscribe,
} from '@weir/nodes/import';
import { ImportError } from '@weir/proxy/protocols/forms';
import { printable, printableJson } from '@weir/base/printable';
import { commandOf, type CommandIo, optionLines, parserOf } from '../command.ts';
import { makeFolder, writeFiles } from '../write-files.ts';
import { IMPORT, REPORTS } from './specs.ts';
import { fileReason } from '@weir/io/files';

const IMPORT_HELP = `weir import, other programs' files as configurations

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
${optionLines(IMPORT.options)}`;

const parseImport = parserOf(IMPORT, (values, [file = '']) => {
  const { subscribe, outbounds, output, report = 'text', force = false } = values;
  const forms = [
    ...(subscribe ? ['subscribe' as const] : []),
    ...(outbounds ? ['outbounds' as const] : []),
    ...(output === undefined ? [] : ['pair' as const]),
  ];
  if (forms.length > 1) {
    throw new UsageError('--subscribe, --outbounds and --output exclude each other');
  }
  if (file === '') throw new UsageError('import needs FILE');
  const format = REPORTS.find((each) => each === report);
  if (!format) throw new UsageError('--report takes text or json');
  return {
    /** Path of the file; `-` for standard input, or a URL. */
    file,
    form: forms[0] ?? ('config' as const),
    /** The output directory of `pair`. */
    folder: output ?? '',
    geoip: values.geoip,
    geosite: values.geosite,
    userAgent: values['user-agent'],
    report: format,
    reportFile: values['report-file'],
    /** Whether files may be replaced, and the exit status is 0 even if flows are dropped. */
    force,
  };
});

type ImportArguments = NonNullable<ReturnType<typeof parseImport>>;

const NODES = 'nodes.toml';
const CONFIG = 'weir.toml';

/**
 * `weir import`. Resolves with the exit status: 1 if nothing could be imported, or flows are dropped
 * because their target could not.
 * @throws {UsageError}
 */
export const importCommand = commandOf(
  IMPORT.name,
  IMPORT_HELP,
  parseImport,
  async (options, io) => {
    const warn = (text: string): void => void io.stderr.write(`weir import: ${printable(text)}\n`);
    try {
      await loadForms();
      const imported = readForeign(await readDocument(options.file, options.userAgent));
      const { text, files, report } = await written(imported, options);
      await writeReport(report, options, io);
      if (files.length > 0) {
        // The files of nodes and users contain secrets.
        const placed = files.map(({ name, text: content }) => ({
          path: join(options.folder, name),
          text: content,
          secret: true,
        }));
        await makeFolder(options.folder);
        await writeFiles(placed, options.force);
        warn(`wrote ${placed.map(({ path }) => path).join(' and ')}`);
        if (options.form === 'pair')
          warn(`start it: weir --config ${join(options.folder, CONFIG)}`);
      }
      io.stdout.write(text);
      return report.problems.length === 0 || options.force ? 0 : 1;
    } catch (error) {
      if (!(error instanceof WeirError)) throw error;
      if (error instanceof NothingImported) await writeReport(error.report, options, io);
      else warn(error.message);
      return 1;
    }
  },
);

/** The output for a document. */
interface Written {
  /** Text for standard output. */
  readonly text: string;
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly report: ImportReport;
}

const WRITERS = { config: toConfig, subscribe: toSubscribe, outbounds: toNodes };

async function written(imported: Imported, options: ImportArguments): Promise<Written> {
  const { form, folder, geoip, geosite } = options;
  const writing = { check: configProblem, geoip, geosite };
  switch (form) {
    case 'config':
    case 'subscribe':
    case 'outbounds':
      return { files: [], ...(await WRITERS[form](imported, writing)) };
    case 'pair': {
      const { config, nodes, report } = await toPair(imported, writing, NODES);
      const problem = await pairProblem(
        { path: join(folder, CONFIG), text: config },
        { name: NODES, text: nodes },
      );
      if (problem !== undefined) throw new ImportError(`the files would be invalid: ${problem}`);
      return {
        text: '',
        files: [
          { name: NODES, text: nodes },
          { name: CONFIG, text: config },
        ],
        report,
      };
    }
    default:
      return form satisfies never;
  }
}

/** Writes a report to its file, or to standard error; problems and the last line always go to standard error. */
async function writeReport(
  report: ImportReport,
  { form, report: format, reportFile }: ImportArguments,
  { stderr }: CommandIo,
): Promise<void> {
  const lines = reportLines(report, form === 'config' ? 'outbound' : 'node').map(
    (line) => `weir import: ${line}\n`,
  );
  const text = format === 'json' ? `${printableJson(report)}\n` : lines.join('');
  if (reportFile === undefined) {
    stderr.write(text);
    return;
  }
  await writeFiles([{ path: reportFile, text, secret: false }], true);
  stderr.write(lines.slice(-1 - report.problems.length).join(''));
}

const TIMEOUT_MS = 60_000;

const isUrl = (file: string): boolean => /^https?:\/\//i.test(file);

/**
 * Reads the text of a file, of standard input (`-`) or of a URL.
 * @throws {WeirError} when it cannot be read, is too large, or the server rejects the request
 */
async function readDocument(file: string, userAgent: string | undefined): Promise<string> {
  if (isUrl(file)) return fetched(file, userAgent ?? `weir/${VERSION}`);
  return read(file === '-' ? process.stdin : createReadStream(file), file);
}

async function fetched(url: string, userAgent: string): Promise<string> {
  const { fetchDirectly } = await import('@weir/nodes/fetch/direct');
  const { status, body } = await fetchDirectly({
    url,
    headers: { 'User-Agent': userAgent },
    timeoutMs: TIMEOUT_MS,
    maxBytes: LARGEST_DOCUMENT,
  });
  // Without the URL, which contains the key of the subscription.
  if (status !== 200) throw new ImportError(`the server answered with status ${status}`);
  return textOf(Buffer.from(body));
}

async function read(stream: Readable, file: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      const bytes = chunk as Buffer;
      chunks.push(bytes);
      size += bytes.length;
      if (size > LARGEST_DOCUMENT) throw new ImportError('the file is larger than 16 MiB');
    }
  } catch (error) {
    if (error instanceof ImportError) throw error;
    throw new ImportError(`cannot read ${file}: ${fileReason(error)}`);
  }
  return textOf(Buffer.concat(chunks));
}

/** Decodes UTF-8, or UTF-16 with a byte order mark, which older editors and shells of Windows write. */
const textOf = (bytes: Buffer): string =>
  bytes[0] === 0xff && bytes[1] === 0xfe ? bytes.toString('utf16le') : bytes.toString('utf8');
