import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  CLASH_DOCUMENT_KEYS,
  CLASH_GROUP_KEYS,
  CLASH_LISTENER_KEYS,
  CLASH_KEYS,
} from '../../../packages/nodes/src/import/keys/clash.ts';
import {
  SING_BOX_DNS_KEYS,
  SING_BOX_DOCUMENT_KEYS,
  SING_BOX_GROUP_KEYS,
  SING_BOX_INBOUND_KEYS,
  SING_BOX_RULE_KEYS,
  SING_BOX_KEYS,
} from '../../../packages/nodes/src/import/keys/sing-box.ts';
import {
  XRAY_DNS_KEYS,
  XRAY_DOCUMENT_KEYS,
  XRAY_INBOUND_KEYS,
  XRAY_USER_KEYS,
  XRAY_RULE_KEYS,
  XRAY_KEYS,
} from '../../../packages/nodes/src/import/keys/xray.ts';
import type { KeyTable } from '../../../packages/nodes/src/import/verdicts.ts';
import { page, ROOT } from '../../support/docs/pages.ts';
import { verdictTable } from '../../support/docs/verdict-rows.ts';
import { written } from '../../support/import/written.ts';

/* The pages for users of other programs: the files and tables on them are those of `weir import`. */

const PAGES: readonly (readonly [string, readonly (readonly [string, KeyTable])[]])[] = [
  [
    'docs/guides/from-sing-box.md',
    [
      ['Servers', SING_BOX_KEYS],
      ['Rules', SING_BOX_RULE_KEYS],
      ['Groups', SING_BOX_GROUP_KEYS],
      ['Inbounds', SING_BOX_INBOUND_KEYS],
      ['DNS servers', SING_BOX_DNS_KEYS],
      ['Other keys', SING_BOX_DOCUMENT_KEYS],
    ],
  ],
  [
    'docs/guides/from-xray.md',
    [
      ['Servers', XRAY_KEYS],
      ['Rules', XRAY_RULE_KEYS],
      ['Inbounds', XRAY_INBOUND_KEYS],
      ['Users of inbounds', XRAY_USER_KEYS],
      ['DNS servers', XRAY_DNS_KEYS],
      ['Other keys', XRAY_DOCUMENT_KEYS],
    ],
  ],
  [
    'docs/guides/from-mihomo.md',
    [
      ['Servers', CLASH_KEYS],
      ['Groups', CLASH_GROUP_KEYS],
      ['Listeners', CLASH_LISTENER_KEYS],
      ['Other keys', CLASH_DOCUMENT_KEYS],
    ],
  ],
];

const FILES = /^(?<head>```(?:json|yaml)\n(?<foreign>[^]*?)^```\n[^]*?^```toml\n)[^]*?(?=^```$)/m;
const TABLES = /^(?<head><!-- keys: .* -->\n)[^]*?(?=^<!-- end -->$)/m;

for (const [path, parts] of PAGES) {
  describe(path, () => {
    test('has the file that its example becomes, and the keys that are not carried over', async () => {
      const { text } = page(path);
      const found = FILES.exec(text)?.groups;
      assert.ok(found);
      const { text: toml, report } = await written(found['foreign'] ?? '');
      assert.deepEqual(report.problems, []);
      const tables = parts
        .map(([part, keys]) => `### ${part}\n\n${verdictTable(keys)}\n`)
        .join('\n');
      const wanted = text
        .replace(FILES, (_, head: string) => head + toml)
        .replace(TABLES, (_, head: string) => `${head}\n${tables}\n`);
      if (process.env['WEIR_WRITE_DOCS'] === '1') writeFileSync(join(ROOT, path), wanted);
      else assert.equal(text, wanted);
    });
  });
}
