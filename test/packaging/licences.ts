import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../../packaging/root.ts';
import { parseBill, type BillComponent } from './bill.ts';

/** Licences under which others' code may be in what is published: none asks for more than its text. */
const ALLOWED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
]);

const contained = (bill: string): BillComponent[] =>
  parseBill(bill).components.filter(({ scope }) => scope === 'required');

const nameOf = ({ group, name }: BillComponent): string =>
  group === undefined ? name : `${group}/${name}`;

export function allowedLicences(bill: string): void {
  for (const part of contained(bill)) {
    const ids = part.licenses?.map(({ license }) => license.id) ?? [];
    assert.ok(ids.length > 0, `${nameOf(part)} has no licence`);
    for (const id of ids) assert.ok(ALLOWED.has(id), `${nameOf(part)} is under ${id}`);
  }
}

/** Packages that are under the licence of another, whose text is there. */
const LICENSED_AS: readonly [RegExp, string][] = [[/^@koromix\/koffi-/, 'koffi']];

/** What Node's LICENSE has of the libraries in it. */
const IN_NODE = ['Node.js', 'OpenSSL', 'V8', 'libuv', 'ICU', 'zlib', 'nghttp2', 'c-ares'];

/** Every package of the bill has its section with the text of its own licence file. */
export async function checkNotices(bill: string, notices: string): Promise<void> {
  for (const part of contained(bill)) {
    const own = nameOf(part);
    const name = LICENSED_AS.find(([pattern]) => pattern.test(own))?.[1] ?? own;
    const title = `\n${name} ${part.version} (`;
    assert.ok(notices.includes(title), `no notice of ${name} ${part.version}`);
    if (part.type === 'platform') {
      const missing = IN_NODE.filter(
        (library) => !notices.includes(library, notices.indexOf(title)),
      );
      assert.deepEqual(missing, [], 'no licences of these in that of Node');
      continue;
    }
    const folder = join(ROOT, 'node_modules', name);
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    assert.ok(file !== undefined, `${name} has no licence`);
    const text = (await readFile(join(folder, file), 'utf8')).trim();
    assert.ok(notices.includes(text), `the notices do not have the licence of ${name}`);
  }
}
