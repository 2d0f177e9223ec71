import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { loadRoutes, ruleWarnings } from '../../../src/explain/load-routes.ts';
import { freedom, rule, socksIn } from '../../../../../test/support/process/config.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

async function warningsIn(...rules: readonly string[]) {
  await using folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  await writeFile(file, [socksIn(), freedom(), ...rules].join('\n'));
  const { examined } = await loadRoutes(file);
  return ruleWarnings(examined);
}

describe('the warnings of rules', () => {
  test('are found by the index of their rule', async () => {
    const found = await warningsIn(
      rule('direct', 'domain_suffix = ["example.com"]'),
      rule('direct', 'port = ["443"]'),
      rule('direct', 'domain_suffix = ["www.example.com"]'),
      rule('direct', 'domain_suffix = ["*.example.org"]'),
    );
    assert.deepEqual(
      [...found.keys()].toSorted((a, b) => a - b),
      [2, 3],
    );
    assert.equal(found.get(2)?.isDead, true);
    assert.match(found.get(2)?.message ?? '', /route\.rule\[2\] never matches/);
    assert.equal(found.get(3)?.isDead, false);
  });

  test('are more than a start shows', async () => {
    const shadowed = Array.from({ length: 200 }, (_, index) =>
      rule('direct', `domain_full = ["a${index}.example"]`),
    );
    const found = await warningsIn(rule('direct', 'domain_suffix = ["example"]'), ...shadowed);
    assert.equal(found.size, 200);
  });
});
