import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { runTool } from '../../packaging/tool.ts';

/* What packages consist of, so that two of them that differ say where. */

export const sha256 = (bytes: Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');

export const digestOf = async (path: string): Promise<string> => sha256(await readFile(path));

/** Each file of a tarball with its header (mode, owner, date) and digest, in order. */
export async function tarMembers(path: string): Promise<string[]> {
  return membersOf(gunzipSync(await readFile(path)));
}

function membersOf(archive: Buffer): string[] {
  const BLOCK = 512;
  const members: string[] = [];
  for (let at = 0; at < archive.length && archive[at] !== 0;) {
    const text = (from: number, to: number): string =>
      archive.toString('latin1', at + from, at + to).replace(/\0[^]*$/, '');
    const size = Number.parseInt(text(124, 136), 8);
    const content = archive.subarray(at + BLOCK, at + BLOCK + size);
    const header = [text(100, 108), text(108, 116), text(116, 124), text(136, 148)];
    members.push(`${text(0, 100)} ${header.join(' ')} ${sha256(content)}`);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return members;
}

/** The digests that a Debian package has of its files, their modes and dates, and digests of both archives. */
export async function debMembers(path: string): Promise<string[]> {
  const outputs = await Promise.all(
    [
      'dpkg-deb --ctrl-tarfile "$1" | tar -xO ./md5sums',
      'dpkg-deb --contents "$1"',
      'dpkg-deb --ctrl-tarfile "$1" | sha256sum',
      'dpkg-deb --fsys-tarfile "$1" | sha256sum',
    ].map(async (script) => runTool('sh', ['-c', script, 'sh', path])),
  );
  return outputs.flatMap((output) => output.trim().split('\n'));
}

/** Where two executables begin to differ, with the text around; `undefined` where they are equal. */
export async function executableDifference(a: string, b: string): Promise<string | undefined> {
  const [one, other] = await Promise.all([readFile(a), readFile(b)]);
  if (one.equals(other)) return undefined;
  let at = 0;
  // By blocks, then by bytes: a hundred megabytes.
  const STEP = 65_536;
  while (one.subarray(at, at + STEP).equals(other.subarray(at, at + STEP))) at += STEP;
  while (one[at] === other[at]) at++;
  const around = (bytes: Buffer): string =>
    JSON.stringify(bytes.toString('latin1', Math.max(0, at - 80), at + 80));
  const name = /[\w-]+\.(?:js|cache|json|node|wasm)/g;
  const before = one
    .toString('latin1', Math.max(0, at - 1_000_000), at)
    .match(name)
    ?.at(-1);
  return `byte ${at}, after the name ${before}: ${around(one)} and ${around(other)}`;
}
