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
import { jsonOf, readTables } from '../../src/sources/object-document.ts';
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
      const json = jsonOf(parse(text));
      assert.deepEqual(await specOf({ json }), await specOf({ bytes: Buffer.from(text) }));
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
          await load({ json: jsonOf(object) });
        } catch (error) {
          assert.ok(error instanceof ConfigError, String(error));
        }
      }),
    );
  });

  test('has integers of 53 bits, and floats', () => {
    const { root } = readTables(JSON.parse(jsonOf({ a: 2n ** 50n, b: 1.5, c: -0, d: undefined })));
    const values = Array.from(root.entries, ([, { value }]) =>
      'value' in value ? value.value : 0,
    );
    assert.deepEqual(values, [2n ** 50n, 1.5, 0n]);
  });

  const cases: readonly (readonly [object, string])[] = [
    [{ a: 2n ** 53n }, 'a: the integer 9007199254740992, which is beyond 2^53, is not a value'],
    [{ a: [0, Number.NaN] }, 'a[1]: NaN is not a value'],
    [{ a: [1, undefined] }, 'a[1]: undefined is not a value'],
    [{ a: Array.from({ length: 1 }) }, 'a[0]: undefined is not a value'],
    [{ a: { b: new Date(0) } }, 'a.b: an object of the class Date is not a value'],
    [{ a: { toJSON: () => 1 } }, 'a.toJSON: a function is not a value'],
    [{ a: new (class Port extends Number {})(1) }, 'a: an object of the class Port is not a value'],
    [{ a: Symbol('x') }, 'a: a symbol is not a value'],
  ];
  for (const [object, message] of cases) {
    test(`that no file could contain is an error: ${message}`, () => {
      assert.throws(
        () => jsonOf(object),
        (error) => error instanceof ConfigError && error.message.startsWith(message),
      );
    });
  }

  test('with long keys around many values is an error', () => {
    const values = Array.from({ length: 300 }, () => 1);
    assert.throws(
      () => readTables({ ['x'.repeat(1 << 20)]: values }),
      (error) => error instanceof ConfigError && error.message.endsWith('paths are too long'),
    );
  });

  test('passes on the error of a getter', () => {
    const object = {
      get log(): never {
        throw new RangeError('from the program');
      },
    };
    assert.throws(() => jsonOf(object), new RangeError('from the program'));
  });
});
