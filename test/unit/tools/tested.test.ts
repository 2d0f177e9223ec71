import assert from 'node:assert/strict';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathOf, sourceFiles } from '../../../tools/architecture/imports.ts';
import { countMutants, score, survivors } from '../../../tools/mutation/report.ts';
import { percentReached, readBranches } from '../../../tools/tested/branches.ts';
import { chosenRooms, ROOMS } from '../../../tools/tested/rooms.ts';

const ROOT = join(import.meta.dirname, '../../..');

const filesOf = (pattern: string): Promise<string[]> =>
  Array.fromAsync(glob(pattern, { cwd: ROOT }));

/** The globs that a glob with braces stands for: a file that is gone would hide behind the others. */
function alternativesOf(pattern: string): string[] {
  const [braces, texts] = /\{([^{}]*)\}/.exec(pattern) ?? [];
  if (braces === undefined || texts === undefined) return [pattern];
  return texts.split(',').flatMap((text) => alternativesOf(pattern.replace(braces, text)));
}

describe('the rooms whose coverage is kept', () => {
  test('name files and tests that exist', async () => {
    for (const [name, { files, tests }] of chosenRooms([])) {
      for (const pattern of [...files, ...tests].flatMap(alternativesOf)) {
        assert.ok((await filesOf(pattern)).length > 0, `${name}: ${pattern}`);
      }
    }
  });

  test('hold every codec of a protocol, every codec of HTTP and every router', async () => {
    const patterns = Object.values(ROOMS).flatMap(({ files }) => files);
    const held = new Set((await Promise.all(patterns.map(filesOf))).flat());
    const sources = await sourceFiles();
    for (const kind of [
      /^proxy\/protocols\/[^/]+\/wire\.ts/,
      /^proxy\/protocols\/[^/]+\/settings\.ts/,
      /^http\/http[123]\//,
      /^http\/fields\//,
      /^proxy\/engine\/router\//,
      /^quic\/wire\//,
      /^netstack\/wire\//,
    ]) {
      const wanted = sources.filter((file) => kind.test(file));
      assert.ok(wanted.length > 0, String(kind));
      assert.deepEqual(
        wanted.filter((file) => !held.has(pathOf(file))),
        [],
      );
    }
  });

  test('are chosen by name', () => {
    assert.deepEqual(
      chosenRooms(['mux', 'ws']).map(([name]) => name),
      ['mux', 'ws'],
    );
    assert.throws(() => chosenRooms(['mix']), /no room is called mix: router, sniff/);
  });
});

test('branches are read from LCOV, with the lines of those that were not taken', () => {
  const lcov =
    'TN:\nSF:src/a.ts\nFN:1,f\nBRDA:1,0,0,4\nBRDA:3,1,0,0\nBRDA:3,2,0,-\nBRF:3\nBRH:1\nend_of_record\n' +
    'TN:\nSF:src/b.ts\nBRDA:1,0,0,1\nend_of_record\n';
  const files = readBranches(lcov);
  assert.deepEqual(files, [
    { file: 'src/a.ts', found: 3, reached: 1, missedLines: [3] },
    { file: 'src/b.ts', found: 1, reached: 1, missedLines: [] },
  ]);
  assert.equal(percentReached(files), 50);
  assert.equal(percentReached([]), 100);
});

test('the score of mutants leaves out those that no test could notice', () => {
  const location = { start: { line: 3, column: 5 } };
  const mutants = ['Killed', 'Killed', 'Timeout', 'Survived', 'NoCoverage', 'Ignored'].map(
    (status) => ({ status, mutatorName: 'BlockStatement', replacement: '{\n}', location }),
  );
  const report = { files: { 'src/a.ts': { mutants } } };
  const counts = countMutants(report);
  assert.deepEqual(counts, { killed: 2, timedOut: 1, survived: 1, notCovered: 1 });
  assert.equal(score(counts), 60);
  assert.deepEqual(survivors(report), [
    'src/a.ts:3:5 BlockStatement: { }',
    'src/a.ts:3:5 BlockStatement, not covered: { }',
  ]);
});
