import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { readLimits } from '@weir/config/limits/read-limits';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import { readSources } from '../../../packages/nodes/src/subscribe/files/sources-file.ts';
import { importConfigOf } from '../../support/docs/imported.ts';
import { blocksOf, PAGES, type Block } from '../../support/docs/pages.ts';
import { load, makeGeoFiles } from '../../support/config/support.ts';
import { specOfBoth } from '../../support/config/subscribe-support.ts';

const folder = makeGeoFiles();
after(() => rmSync(folder, { recursive: true }));

/** The files that configurations name are those of the scratch folder. */
const withFiles = (text: string): string =>
  text.replaceAll(/"(?:[^"\n]*\/)?(geo\w+\.dat|cert\.pem|key\.pem)"/g, (_, file: string) =>
    JSON.stringify(join(folder, file)),
  );

const ALL = PAGES.flatMap((page) => blocksOf(page)).filter(({ language }) => language === 'toml');
const isSubscribe = ({ text }: Block): boolean => text.includes('[[proxy_server]]');
const isSources = ({ text }: Block): boolean => text.startsWith('[[source]]');
const isLimits = ({ text }: Block): boolean => text.includes('[[limit]]');
const isComment = ({ text }: Block): boolean => /^\s*(?:#.*\s*)*$/.test(text);
const usesSubscribe = ({ text }: Block): boolean => text.includes('[subscribe]');
const CONFIGS = ALL.filter(
  (block) => !isSubscribe(block) && !isSources(block) && !isLimits(block) && !isComment(block),
);

/** Guides and the README show whole files; a reference page may show a part of one. */
const isWhole = ({ page }: Block): boolean => page === 'README.md' || page.includes('/guides/');

/** A part with what it leaves out. */
function completed(block: Block): string {
  const { text } = block;
  if (isWhole(block) || usesSubscribe(block) || text.includes('[[outbound]]')) return text;
  return `${text}\n[[outbound]]\ntag = "direct"\nprotocol = "freedom"\n`;
}

describe('a configuration of the documentation is accepted', () => {
  for (const block of CONFIGS.filter((each) => !usesSubscribe(each))) {
    test(`${block.page}:${block.line}`, async () => {
      const { spec, warnings } = await load(withFiles(completed(block)), new FileDigests());
      if (!isWhole(block)) return;
      assert.ok(spec.inbounds.length > 0);
      assert.deepEqual(warnings, []);
    });
  }

  for (const block of CONFIGS.filter(usesSubscribe)) {
    test(`${block.page}:${block.line}, with the subscribe file beside it`, () => {
      const file = ALL.find((each) => each.page === block.page && isSubscribe(each));
      assert.ok(file);
      assert.ok(specOfBoth(block.text, file.text).outbounds.length > 1);
    });
  }
});

test('the sources of subscriptions in the documentation are accepted', () => {
  const sources = ALL.filter(isSources).flatMap(({ text, page }) => readSources(text, page));
  assert.ok(sources.length > 0);
});

test('the limits files of the documentation are accepted', async () => {
  const files = ALL.filter(isLimits);
  assert.ok(files.length > 0);
  for (const { page, text } of files) {
    const { accounts } = await readLimits(page, { read: async () => Buffer.from(text) });
    assert.ok(accounts.size > 0);
  }
});

test('the share links of the VPS are the servers of its client file', async () => {
  const blocks = ALL.filter(({ page }) => page === 'docs/guides/vps.md');
  const links = PAGES.flatMap((page) => blocksOf(page)).find(({ text }) =>
    text.startsWith('vless://'),
  );
  const { spec: byLinks } = await load(await importConfigOf(links?.text ?? ''));
  const { spec: byFile } = await load(blocks[1]?.text ?? '');
  const plain = (outbounds: typeof byFile.outbounds): readonly string[] =>
    outbounds.map(({ protocol, settings }) => JSON.stringify([protocol, settings])).toSorted();
  assert.deepEqual(plain(byLinks.outbounds), plain(byFile.outbounds));
});
