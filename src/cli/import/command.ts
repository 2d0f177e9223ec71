import { join } from 'node:path';
import { configProblem, pairProblem } from '../../app/loading/config-problem.ts';
import { WeirError } from '../../errors.ts';
import { readForeign, type Imported } from '../../import/document.ts';
import { ImportError } from '../../protocols/forms/draft.ts';
import type { ImportReport } from '../../import/report.ts';
import { reportLines } from '../../import/report-text.ts';
import { NothingImported, toConfig } from '../../import/write/config.ts';
import { toNodes, toPair, toSubscribe } from '../../import/write/subscribe.ts';
import { printable, printableJson } from '../../printable.ts';
import { loadForms } from '../../protocols/registry.ts';
import type { CommandIo } from '../command.ts';
import { IMPORT_HELP, parseImport, type ImportArguments } from './arguments.ts';
import { readDocument } from './read-document.ts';
import { makeFolder, writeFiles } from '../write-files.ts';

const NODES = 'nodes.toml';
const CONFIG = 'weir.toml';

/**
 * `weir import`. Resolves with the exit status: 1 if nothing could be imported, or flows are dropped
 * because their target could not.
 * @throws {UsageError}
 */
export async function importCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const options = parseImport(argv);
  if (options.help) {
    io.stdout.write(IMPORT_HELP);
    return 0;
  }
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
      if (options.form === 'pair') warn(`start it: weir --config ${join(options.folder, CONFIG)}`);
    }
    io.stdout.write(text);
    return report.problems.length === 0 || options.force ? 0 : 1;
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    if (error instanceof NothingImported) await writeReport(error.report, options, io);
    else warn(error.message);
    return 1;
  }
}

/** The output for a document. */
interface Written {
  /** Text for standard output. */
  readonly text: string;
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly report: ImportReport;
}

async function written(imported: Imported, options: ImportArguments): Promise<Written> {
  const { form, folder, geoip, geosite } = options;
  const writing = { check: configProblem, geoip, geosite };
  switch (form) {
    case 'config':
      return { files: [], ...(await toConfig(imported, writing)) };
    case 'subscribe':
      return { files: [], ...(await toSubscribe(imported, writing)) };
    case 'outbounds':
      return { files: [], ...(await toNodes(imported, writing)) };
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
