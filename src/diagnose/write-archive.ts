import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { createFile } from '../app/create-file.ts';
import { codeOf, messageOf, WeirError } from '../errors.ts';
import { readmeText, type Diagnosis } from './diagnosis.ts';
import { tarArchive } from './tar.ts';

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
