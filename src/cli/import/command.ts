import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { loadConfigFile } from '../../app/loading/inline-runner.ts';
import { ConfigError } from '../../config/errors.ts';
import { WeirError, messageOf } from '../../errors.ts';
import { LARGEST_DOCUMENT, readForeign, type Imported } from '../../import/document.ts';
import { ImportError } from '../../import/draft.ts';
import { chooseDefault } from '../../import/default-route.ts';
import { configHead, outboundText, Tags, type Form } from '../../import/write-config.ts';
import { printable, quoted } from '../../printable.ts';
import type { CommandIo } from '../command.ts';
import { IMPORT_HELP, parseImport } from './arguments.ts';

/**
 * `weir import`. Resolves with the exit status: 1 if nothing could be imported, or the default of
 * the document could not.
 * @throws {UsageError}
 */
export async function importCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { help, file, outbounds, force } = parseImport(argv);
  if (help) {
    io.stdout.write(IMPORT_HELP);
    return 0;
  }
  const warn = (text: string): void => void io.stderr.write(`weir import: ${printable(text)}\n`);
  try {
    const imported = readForeign(await read(file === '-' ? process.stdin : createReadStream(file)));
    const found = await outboundTexts(imported, outbounds ? 'node' : 'outbound', warn);
    if (found.size === 0) throw new ImportError(`no outbound could be made of ${imported.kind}`);
    const texts = [...found.values()].map(({ text }) => text).join('\n');
    const tags = new Map([...found].map(([index, { tag }]) => [index, tag]));
    const standard = outbounds ? undefined : chooseDefault(imported, tags);
    io.stdout.write((standard ? configHead(standard) : '') + texts);
    const noun = outbounds ? 'node' : 'outbound';
    warn(`${found.size} ${noun}${found.size === 1 ? '' : 's'} from ${imported.kind}`);
    const left = leftOut(imported);
    if (left !== '') warn(`not imported: ${left}`);
    if (standard?.problem === undefined) return 0;
    warn(`${standard.problem} The default is "blackhole": flows that no rule matches are dropped.`);
    return force ? 0 : 1;
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    warn(error.message);
    return 1;
  }
}

/** The parts of a document that are not servers. */
function leftOut({ rules, groups, others }: Imported): string {
  const counted = (count: number, noun: string): string[] =>
    count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'}`];
  return [...counted(rules, 'rule'), ...counted(groups, 'group'), ...others].join(', ');
}

/**
 * The valid outbounds as text, by the index of their entry; `warn` is called with the reasons for
 * the others.
 */
async function outboundTexts(
  { entries }: Imported,
  form: Form,
  warn: (text: string) => void,
): Promise<ReadonlyMap<number, { readonly tag: string; readonly text: string }>> {
  const tags = new Tags();
  const texts = new Map<number, { tag: string; text: string }>();
  for (const [index, entry] of entries.entries()) {
    const { name } = entry.draft ?? entry;
    const which = name === '' ? `entry ${index + 1}` : quoted(name);
    if (!entry.draft) {
      warn(`${which} was left out: ${entry.skipped}`);
      continue;
    }
    // A node is a server: `direct` and `blackhole` are built in.
    if (
      form === 'node' &&
      entry.draft.server === undefined &&
      entry.draft.protocol !== 'wireguard'
    ) {
      warn(`${which} was left out: "direct" and "blackhole" are built in`);
      continue;
    }
    const tag = tags.next(entry.draft);
    const problem = await problemWith(outboundText(tag, entry.draft));
    if (problem !== undefined) {
      warn(`${which} was left out: ${problem}`);
      continue;
    }
    texts.set(index, { tag, text: outboundText(tag, entry.draft, form) });
    for (const note of entry.notes) warn(`${which}: ${note}`);
  }
  return texts;
}

/** The error of the configuration's checks for an outbound, if any. */
async function problemWith(text: string): Promise<string | undefined> {
  try {
    await loadConfigFile('imported', { bytes: Buffer.from(text), serveApi: false });
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n').at(-1)?.trim();
    throw error;
  }
}

async function read(stream: Readable): Promise<string> {
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
    throw new ImportError(`cannot read the file: ${messageOf(error)}`);
  }
  return Buffer.concat(chunks).toString('utf8');
}
