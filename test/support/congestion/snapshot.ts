import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const FOLDER = join(import.meta.dirname, 'snapshots');

/**
 * Compares a text with the checked-in one, so that a change of behaviour shows in review.
 * `WEIR_SNAPSHOTS=write` records it anew.
 */
export function matchSnapshot(name: string, text: string): void {
  const path = join(FOLDER, name);
  if (process.env['WEIR_SNAPSHOTS'] === 'write') {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  assert.equal(text, readFileSync(path, 'utf8'));
}
