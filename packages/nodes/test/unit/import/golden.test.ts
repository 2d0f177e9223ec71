import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { configProblem, pairProblem } from '@weir/server/loading';
import { readForeign } from '../../../src/import/document.ts';
import { reportLines } from '../../../src/import/report.ts';
import { toConfig } from '../../../src/import/write/config.ts';
import { toPair, toSubscribe } from '../../../src/import/write/subscribe.ts';
import '../../../../../test/support/import/load-forms.ts';

const FOLDER = join(import.meta.dirname, 'golden');
const OPTIONS = { check: configProblem };

/**
 * Documents, and beside each what it becomes. Written by WEIR_WRITE_GOLDEN=1. Those with a version are what that
 * generator writes of servers that do not exist; Marzban's links are of the keys of that commit, without running it.
 */
const DOCUMENTS = globSync('*.{yaml,json,txt}', { cwd: FOLDER })
  .filter((name) => !name.endsWith('.report.txt'))
  .toSorted();

function expectFile(name: string, text: string): void {
  const path = join(FOLDER, name);
  if (process.env['WEIR_WRITE_GOLDEN'] === '1') writeFileSync(path, text);
  else assert.equal(text, readFileSync(path, 'utf8'));
}

for (const document of DOCUMENTS) {
  const name = basename(document).replace(/\.\w+$/, '');
  const imported = readForeign(readFileSync(join(FOLDER, document), 'utf8'));

  describe(document, () => {
    test('becomes a configuration that Weir accepts', async () => {
      const { text, report } = await toConfig(imported, OPTIONS);
      assert.equal(await configProblem(text), undefined);
      expectFile(`${name}.toml`, text);
      expectFile(`${name}.report.txt`, `${reportLines(report, 'outbound').join('\n')}\n`);
    });

    test('becomes a subscribe file that Weir accepts with its picks', async () => {
      const { text, names, picks } = await toSubscribe(imported, OPTIONS);
      expectFile(`${name}.nodes.toml`, text);
      assert.deepEqual(
        Array.from(text.matchAll(/^\[\[proxy_server\]\]\nname = (.*)$/gm), ([, found]) => found),
        names.map((each) => JSON.stringify(each)),
      );
      const routes = Array.from(picks, (pick) =>
        pick.map((each) => JSON.stringify(each)).join(' = '),
      );
      const config = `[subscribe]\npath = "n.toml"\n[subscribe.routes]\n${routes.join('\n')}\n`;
      assert.equal(
        await pairProblem({ path: 'weir.toml', text: config }, { name: 'n.toml', text }),
        undefined,
      );
    });

    test('becomes a configuration with picks and its subscribe file', async () => {
      const { config, nodes } = await toPair(imported, OPTIONS, 'nodes.toml');
      expectFile(`${name}.pair.toml`, config);
      const files = [
        { path: 'weir.toml', text: config },
        { name: 'nodes.toml', text: nodes },
      ] as const;
      assert.equal(await pairProblem(...files), undefined);
    });

    test('has every part in the report, and no control character in any text', async () => {
      const { text, report } = await toConfig(imported, OPTIONS);
      const count = (part: string): number =>
        report.items.filter((each) => each.part === part).length;
      assert.equal(count('server'), imported.entries.length);
      assert.equal(count('group'), imported.groups.length);
      const asRules = imported.rules.filter((each) => 'isKey' in each).length;
      assert.equal(count('rule'), imported.rules.length - asRules);
      assert.equal(count('inbound'), imported.inbounds.length);
      assert.equal(count('key'), imported.keys.length + asRules);
      assert.ok(
        report.items.every(({ status, notes }) => status !== 'skipped' || notes.join('') !== ''),
      );
      const lines = reportLines(report, 'outbound').join('\n');
      assert.doesNotMatch((text + lines).replaceAll('\n', ''), /[\p{Cc}\p{Cf}]/u);
    });
  });
}
