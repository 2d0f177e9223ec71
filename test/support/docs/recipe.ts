import assert from 'node:assert/strict';
import { blocksOf, page } from './pages.ts';

/** The blocks of code below a heading of a page, in order, of one language. */
export function recipeBlocks(path: string, heading: string, language = 'sh'): readonly string[] {
  const { text } = page(path);
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.startsWith('##') && line.endsWith(`# ${heading}`));
  assert.ok(first >= 0, `${path} has no heading "${heading}"`);
  const rest = lines.findIndex((line, index) => index > first && line.startsWith('## '));
  const next = lines.findIndex((line, index) => index > first && line.startsWith('##'));
  const end = lines[first]?.startsWith('### ') === true ? next : rest;
  const blocks = blocksOf({ path, text }).filter(
    (block) => block.language === language && block.line > first && (end < 0 || block.line <= end),
  );
  assert.ok(blocks.length > 0, `${path}, "${heading}" has no block of ${language}`);
  return blocks.map((block) => block.text);
}
