import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { parse } from 'smol-toml';
import { RegexCache } from '@weir/proxy/names';
import { loadConfig } from '../../src/load-config.ts';
import { ConfigError } from '../../src/errors.ts';
import { readObject } from '../../src/sources/object-document.ts';
import type { ConfigSource } from '../../src/sources/documents.ts';
import { type FileReader, FileReadError } from '../../src/sources/input-files.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

const FILES: FileReader = {
  read: () => Promise.reject(new FileReadError('no such file or directory')),
  sha256: () => Promise.reject(new FileReadError('no such file or directory')),
  isPublic: () => Promise.resolve(false),
};

const load = (source: ConfigSource) =>
  loadConfig(source, FILES, { regexes: new RegexCache(), serveApi: true });

/** A configuration, or the text of its error without the place. */
async function specOf(source: ConfigSource): Promise<unknown> {
  try {
    return (await load(source)).spec;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.subject;
  }
}

describe('an object', () => {
  const examples = globSync(join(ROOT, 'config/*.toml')).toSorted();
  test('there are examples', () => assert.ok(examples.length > 0));
  for (const path of examples) {
    test(`is the same configuration as ${basename(path)}`, async () => {
      const text = readFileSync(path, 'utf8');
      const object = readObject(parse(text));
      assert.deepEqual(await specOf({ object }), await specOf({ bytes: Buffer.from(text) }));
    });
  }

  test('of any kind has a configuration or a named error', async () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
    });
    const tables = fc.record(
      { inbound: anything, outbound: anything, route: anything, log: anything },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(tables, fc.dictionary(fc.string(), anything)), async (object) => {
        try {
          await load({ object: readObject(object) });
        } catch (error) {
          assert.ok(error instanceof ConfigError, String(error));
        }
      }),
    );
  });

  test('has equal digests for equal values alone', () => {
    const digest = (object: object): string => readObject(object).digest;
    assert.equal(
      digest({ log: { level: 'info' } }),
      digest({ log: { level: 'info' }, dns: undefined }),
    );
    const different = [
      {},
      { a: 1 },
      { a: '1' },
      { a: [1] },
      { a: { b: 1 } },
      { 'a.b': 1 },
      { a: 1n, b: 1 },
    ];
    assert.equal(new Set(different.map(digest)).size, different.length);
  });

  test('has integers of 64 bits, and floats', () => {
    const { root } = readObject({ a: 2n ** 63n, b: 1.5, c: -0, d: 2 ** 60 });
    const values = Array.from(root.entries, ([, { value }]) =>
      'value' in value ? value.value : 0,
    );
    assert.deepEqual(values, [2n ** 63n, 1.5, 0n, 2 ** 60]);
  });
});
