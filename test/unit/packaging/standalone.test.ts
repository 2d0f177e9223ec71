import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { STANDALONE } from '../../../packaging/standalone.ts';
import { readManifest } from '../../../packaging/manifest.ts';
import { ROOT } from '../../../packaging/root.ts';
import { listIn } from '../../../tools/architecture/entries.ts';

/** Returns whether a comment stands directly before the declaration of a name. */
function isDocumented(text: string, name: string): boolean {
  const declaration = new RegExp(
    `^export (?:abstract )?(?:async )?(?:interface|type|class|const|function\\*?) ${name}\\b`,
    'm',
  );
  const at = declaration.exec(text)?.index;
  // What another module exports is documented there.
  return at === undefined || /\*\/\s*$/.test(text.slice(0, at));
}

test('a package that stands alone documents all that it exports', () => {
  const bare: string[] = [];
  for (const name of STANDALONE) {
    const entries = readManifest(`packages/${name}`).exports as Readonly<Record<string, string>>;
    for (const path of Object.values(entries)) {
      const entry = join('packages', name, path);
      const listed = listIn(entry, readFileSync(join(ROOT, entry), 'utf8'));
      for (const [exported, file] of listed ?? []) {
        if (!isDocumented(readFileSync(join(ROOT, file), 'utf8'), exported)) {
          bare.push(`${file}: ${exported}`);
        }
      }
    }
  }
  assert.deepEqual(bare, []);
});
