import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reach } from '../../../tools/suite/reach.ts';

const FILES = Object.entries({
  'packages/one/package.json': '{ "exports": { ".": "./src/index.ts" } }',
  'packages/one/src/a.ts': 'export const a = 1;',
  'packages/one/src/b.ts': "import { a } from './a.ts';\nimport type { C } from './c.ts';",
  'packages/one/src/c.ts': 'export type C = 1;',
  'packages/one/src/index.ts': "export { a } from './a.ts';\nexport { b } from './b.ts';",
  'packages/one/src/loaded.ts': "const load = () => import('./b.ts');",
  'packages/one/src/thread.ts': "new Worker(new URL('./loaded.ts', import.meta.url));",
  'packages/one/src/main.js': "import {\n  load,\n} from './thread.ts';",
  'test/support/weir.ts':
    "const MAIN = new URL('../../packages/one/src/main.js', import.meta.url);",
  'test/support/all.ts': "const FOLDER = join(import.meta.dirname, '../../packages/one/src');",
  'packages/two/test/unit/a.test.ts': "import { a } from '@weir/one';",
  'test/unit/b.test.ts': "import { b } from '../../packages/one/src/b.ts';",
  'test/unit/all.test.ts': "import { FOLDER } from '../support/all.ts';",
  'test/unit/docs.test.ts': "readFileSync('docs/guide.md'); read('names.json');",
  'test/unit/spec.test.ts': "new URL('../../docs/openapi.yaml', import.meta.url);",
  'test/scenarios/run.test.ts': "import { Weir } from '../support/weir.ts';",
}).map(([path, text]) => ({ path, text }));

const testsIn = (paths: ReadonlySet<string>): string[] =>
  [...paths].filter((path) => path.endsWith('.test.ts')).sort();

test('a change reaches what imports it, over other files too, and what reads its folder', () => {
  const { near, alone } = reach(['packages/one/src/a.ts'], FILES);
  assert.deepEqual(testsIn(near), [
    'packages/two/test/unit/a.test.ts',
    'test/unit/all.test.ts',
    'test/unit/b.test.ts',
  ]);
  assert.deepEqual(alone, []);
});

test('an import from an entry of a package is one of the files that have what is imported', () => {
  const { near } = reach(['packages/one/src/b.ts'], FILES);
  assert.deepEqual(testsIn(near), ['test/unit/all.test.ts', 'test/unit/b.test.ts']);
});

test('a change reaches tests that start the program apart from others', () => {
  assert.deepEqual(testsIn(reach(['packages/one/src/a.ts'], FILES).far), [
    'test/scenarios/run.test.ts',
  ]);
  // A change of the test's own side is near.
  const { near, far } = reach(['test/support/weir.ts'], FILES);
  assert.deepEqual(testsIn(near), ['test/scenarios/run.test.ts']);
  assert.deepEqual(testsIn(far), []);
});

test('a change of types reaches no test, since the compiler finds what they break', () => {
  const { near, far } = reach(['packages/one/src/c.ts'], FILES);
  assert.deepEqual(testsIn(near), ['test/unit/all.test.ts']);
  assert.deepEqual(testsIn(far), []);
});

test('a test that has changed is reached', () => {
  const { near, alone } = reach(['test/unit/b.test.ts'], FILES);
  assert.deepEqual(testsIn(near), ['test/unit/b.test.ts']);
  assert.deepEqual(alone, []);
});

test('a file that is no module reaches the tests that have its path or name', () => {
  for (const [path, name] of [
    ['docs/guide.md', 'docs'],
    ['test/corpus/names.json', 'docs'],
    ['docs/openapi.yaml', 'spec'],
  ] as const) {
    const { near, alone } = reach([path], FILES);
    assert.deepEqual(testsIn(near), [`test/unit/${name}.test.ts`]);
    assert.deepEqual(alone, []);
  }
});

test('what no file imports or names stands alone', () => {
  const { near, alone } = reach(['docs/other.md', 'packages/one/src/new.ts'], FILES);
  assert.deepEqual(testsIn(near), ['test/unit/all.test.ts']);
  assert.deepEqual(alone, ['docs/other.md']);
});
