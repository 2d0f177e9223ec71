import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  changeLinks,
  readLinks,
  withoutOthers,
  withToken,
  withUsers,
} from '../../../src/links/token-file.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const NOW = Date.UTC(2026, 10, 29);

describe('a file of link tokens', () => {
  test('does not exist at first, and is then its owner’s alone', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'links.json');
    assert.equal((await readLinks(path)).tokens.size, 0);
    const made = await changeLinks(path, (links) => withUsers(links, ['ann', '__proto__'], NOW));
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.deepEqual(await readLinks(path), made);
    for (const { token } of made.tokens.values()) assert.match(token, /^[\w-]{43}$/);
  });

  test('is not written when nothing changes', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'links.json');
    await changeLinks(path, (links) => links);
    await assert.rejects(stat(path), { code: 'ENOENT' });
    await changeLinks(path, (links) => withUsers(links, ['ann'], NOW));
    const { ino } = await stat(path);
    await changeLinks(path, (links) =>
      withoutOthers(withUsers(links, ['ann'], NOW), new Set(['ann'])),
    );
    assert.equal((await stat(path)).ino, ino);
  });

  test('keeps the tokens of others when one is replaced or removed', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'links.json');
    const before = await changeLinks(path, (links) => withUsers(links, ['ann', 'bob'], NOW));
    const rotated = await changeLinks(path, (links) => withToken(links, 'ann', NOW));
    assert.notEqual(rotated.tokens.get('ann')?.token, before.tokens.get('ann')?.token);
    assert.deepEqual(rotated.tokens.get('bob'), before.tokens.get('bob'));
    const left = await changeLinks(path, (links) => withoutOthers(links, new Set(['bob'])));
    assert.deepEqual([...left.tokens.keys()], ['bob']);
  });

  test('takes the changes of several at once', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'links.json');
    const users = Array.from({ length: 8 }, (_, index) => `user ${index}`);
    await Promise.all(
      users.map((user) => changeLinks(path, (links) => withUsers(links, [user], NOW))),
    );
    assert.deepEqual([...(await readLinks(path)).tokens.keys()].toSorted(), users);
  });

  test('of any contents is read or refused, and a refused one is not written', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'links.json');
    const link = fc.record(
      {
        user: fc.oneof(fc.string(), fc.integer()),
        token: fc.oneof(fc.string(), fc.constant('x'.repeat(43))),
        created: fc.oneof(fc.string(), fc.constant('2026-11-29T00:00:00Z')),
      },
      { requiredKeys: [] },
    );
    const file = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .record({ version: fc.constant(1), links: fc.array(fc.oneof(link, fc.jsonValue())) })
        .map((value) => JSON.stringify(value)),
    );
    await fc.assert(
      fc.asyncProperty(file, async (text) => {
        await writeFile(path, text);
        try {
          const { tokens } = await readLinks(path);
          for (const { token } of tokens.values()) assert.match(token, /^[\w-]{43}$/);
        } catch (error) {
          assert.match(String(error), /is not a file of link tokens: /);
          await assert.rejects(changeLinks(path, (links) => withUsers(links, ['ann'], NOW)));
          assert.equal(await readFile(path, 'utf8'), text);
        }
      }),
      { numRuns: 50 },
    );
  });
});
