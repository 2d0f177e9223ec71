import { editConfigFile, EditError } from '@weir/server/edits';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import { readStreamConfig } from '@weir/server/loading';
import { editText, inDocument } from '@weir/config/edit';
import { ConfigError, renderConfigError } from '@weir/config';
import { formatToml } from '@weir/config/format/format-toml';
import { withShownKeys } from '@weir/config/documents';
import { parseToml } from '@weir/config/toml';
import { printable } from '@weir/base/printable';
import { commandOf, optionLines, parserOf } from '../command.ts';
import { UsageError } from '@weir/base';
import { FORMAT } from './specs.ts';

const FORMAT_HELP = `weir format, the layout of a file

Usage: weir format [--check] FILE
       weir format - < FILE

Only white space and line breaks change: no indentation but inside brackets, one space around =,
an empty line above each header; comments stay where they are aligned. The file is replaced as a
whole; - reads standard input and writes standard output. With --check nothing is written, and the
exit status is 1 for another layout.

Options:
${optionLines(FORMAT.options)}`;

const parseFormat = parserOf(FORMAT, ({ check = false, config }, operands) => {
  const [file = '', ...more] = [...(config === undefined ? [] : [config]), ...operands];
  if (file === '' || more.length > 0) {
    throw new UsageError('format needs one FILE, or - for standard input');
  }
  return { check, file };
});

const STDIN = '/dev/stdin';

/**
 * `weir format`. Resolves with the exit status: 1 when the file cannot be read or written, is not TOML, or with
 * `--check` has another layout.
 * @throws {UsageError}
 */
export const formatCommand = commandOf(
  'format',
  FORMAT_HELP,
  parseFormat,
  async ({ file, check }, io) => {
    const formatted = (bytes: Uint8Array): Promise<Uint8Array> => format(bytes, file);
    const { before, after } =
      file === '-'
        ? await fromStdin(formatted)
        : // The values stay as they are, so the file is as valid as it was.
          await editConfigFile(file, formatted, { check: () => Promise.resolve(), dryRun: check });
    if (check) {
      const line = firstDifference(before, after);
      if (line === undefined) return 0;
      io.stderr.write(
        `${printable(`${file}:${line}: the layout is not canonical; weir format changes it`)}\n`,
      );
      return 1;
    }
    if (file === '-') io.stdout.write(Buffer.from(after).toString());
    return 0;
  },
);

const format = (bytes: Uint8Array, file: string): Promise<Uint8Array> =>
  withShownKeys(() =>
    editText(bytes, file, (source) => {
      inDocument(source, () => parseToml(source.text));
      return formatToml(source.text);
    }),
  );

async function fromStdin(
  formatted: (bytes: Uint8Array) => Promise<Uint8Array>,
): Promise<{ readonly before: Uint8Array; readonly after: Uint8Array }> {
  try {
    const before = (await readStreamConfig(STDIN)) ?? (await new FileDigests().read(STDIN));
    return { before, after: await formatted(before) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new EditError('invalid', renderConfigError(error), { cause: error });
  }
}

/** The line, from 1, of the first byte that differs. */
function firstDifference(before: Uint8Array, after: Uint8Array): number | undefined {
  let at = 0;
  let line = 1;
  while (at < before.length && before[at] === after[at]) {
    if (before[at] === 0x0a) line += 1;
    at += 1;
  }
  return at === before.length && at === after.length ? undefined : line;
}
