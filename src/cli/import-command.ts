import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { loadConfigFile } from '../app/load-aside.ts';
import { ConfigError } from '../config/errors.ts';
import { WeirError, messageOf } from '../errors.ts';
import { LARGEST_DOCUMENT, readForeign, type Imported } from '../import/document.ts';
import { ImportError } from '../import/draft.ts';
import { CONFIG_HEAD, outboundText, Tags } from '../import/write-config.ts';
import type { CommandIo } from './command.ts';
import { IMPORT_HELP, parseImport } from './import-arguments.ts';

/**
 * `weir import`. Resolves with the exit status: 1 when nothing could be imported.
 * @throws {UsageError}
 */
export async function importCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { help, file, outbounds } = parseImport(argv);
  if (help) {
    io.stdout.write(IMPORT_HELP);
    return 0;
  }
  const warn = (text: string): void => void io.stderr.write(`weir import: ${text}\n`);
  try {
    const imported = readForeign(await read(file === '-' ? process.stdin : createReadStream(file)));
    const texts = await outboundTexts(imported, warn);
    if (texts.length === 0) throw new ImportError(`no outbound could be made of ${imported.kind}`);
    io.stdout.write((outbounds ? '' : CONFIG_HEAD) + texts.join('\n'));
    const count = `${texts.length} ${texts.length === 1 ? 'outbound' : 'outbounds'}`;
    warn(`${count} from ${imported.kind}; rules and inbounds are not imported`);
    return 0;
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    warn(error.message);
    return 1;
  }
}

/** Those that are valid; of the others `warn` gets the reason. */
async function outboundTexts(
  { entries }: Imported,
  warn: (text: string) => void,
): Promise<string[]> {
  const tags = new Tags();
  const texts: string[] = [];
  for (const [index, entry] of entries.entries()) {
    const { name } = entry.draft ?? entry;
    const which = name === '' ? `entry ${index + 1}` : JSON.stringify(name);
    if (!entry.draft) {
      warn(`${which} was left out: ${entry.skipped}`);
      continue;
    }
    const text = outboundText(tags.next(entry.draft), entry.draft);
    const problem = await problemWith(text);
    if (problem === undefined) texts.push(text);
    else warn(`${which} was left out: ${problem}`);
  }
  return texts;
}

/** What the configuration's own checks say about an outbound. */
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
