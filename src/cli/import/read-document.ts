import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { readReason } from '../../app/loading/files-read.ts';
import { LARGEST_DOCUMENT } from '../../import/document.ts';
import { ImportError } from '../../protocols/forms/draft.ts';
import { VERSION } from '../../version.ts';

const TIMEOUT_MS = 60_000;

const isUrl = (file: string): boolean => /^https?:\/\//i.test(file);

/**
 * Reads the text of a file, of standard input (`-`) or of a URL.
 * @throws {WeirError} when it cannot be read, is too large, or the server rejects the request
 */
export async function readDocument(file: string, userAgent: string | undefined): Promise<string> {
  if (isUrl(file)) return fetched(file, userAgent ?? `weir/${VERSION}`);
  return read(file === '-' ? process.stdin : createReadStream(file), file);
}

async function fetched(url: string, userAgent: string): Promise<string> {
  const { fetchDirectly } = await import('../../fetch/direct.ts');
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
    throw new ImportError(`cannot read ${file}: ${readReason(error)}`);
  }
  return textOf(Buffer.concat(chunks));
}

/** Decodes UTF-8, or UTF-16 with a byte order mark, which older editors and shells of Windows write. */
const textOf = (bytes: Buffer): string =>
  bytes[0] === 0xff && bytes[1] === 0xfe ? bytes.toString('utf16le') : bytes.toString('utf8');
