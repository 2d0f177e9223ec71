import assert from 'node:assert/strict';

const BLOCK = 512;

/** The files of a tar archive by their paths; checks each header. */
export function filesOf(archive: Buffer): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>();
  let at = 0;
  for (; archive[at] !== 0;) {
    const header = Buffer.from(archive.subarray(at, at + BLOCK));
    const text = (from: number, length: number): string =>
      header.toString('latin1', from, from + length).replace(/\0.*$/s, '');
    const sum = Number.parseInt(text(148, 8), 8);
    header.fill(' ', 148, 156);
    assert.equal(
      header.reduce((total, byte) => total + byte, 0),
      sum,
    );
    const size = Number.parseInt(text(124, 12), 8);
    files.set(text(0, 100), archive.subarray(at + BLOCK, at + BLOCK + size));
    at += BLOCK * (1 + Math.ceil(size / BLOCK));
  }
  assert.ok(archive.length - at >= 2 * BLOCK && archive.subarray(at).every((byte) => byte === 0));
  return files;
}
