import assert from 'node:assert/strict';
import { parse } from 'smol-toml';
import { SourceText } from '@weir/config/documents';
import { parseToml } from '@weir/config/toml';
import type { Span } from '@weir/proxy/schema';
import {
  ConfigInbounds,
  type InboundList,
} from '../../packages/config/src/edit/lists/inbound-list.ts';
import type { OpenNode, OpenTable } from '../../packages/config/src/toml/tree.ts';
import { commentsWithout, listAround, ownedComments } from './comment-owners.ts';
import { KEYS, type ListCase } from './list-documents.ts';

const listOf = (text: string, tag: string): InboundList => {
  const list = new ConfigInbounds(new SourceText(text, undefined)).list(tag, KEYS);
  assert.ok(list);
  return list;
};

interface Data {
  readonly inbound: {
    readonly tag: string;
    settings?: Record<string, unknown[] | undefined> & { note?: unknown };
  }[];
}

const inboundOf = (data: Data, tag: string): Data['inbound'][number] =>
  data.inbound.find((one) => one.tag === tag) ?? assert.fail();

/** A document as another parser reads it, without prototypes. */
const dataOf = (text: string): Data => JSON.parse(JSON.stringify(parse(text))) as Data;

/** The document with the list of the inbound replaced. */
function dataWith(text: string, tag: string, key: string, list: readonly unknown[]): unknown {
  const data = dataOf(text);
  const inbound = inboundOf(data, tag);
  inbound.settings = { ...inbound.settings, [key]: [...list] };
  return data;
}

/** The places of the elements: inline tables, or headers with all that is below them. */
function elementsOf(text: string, tag: string, key: string): readonly Span[] {
  const tables = (node: OpenNode | undefined): OpenTable[] =>
    node?.kind === 'array' ? node.items.filter((item) => item.kind === 'table') : [];
  const inbound = tables(parseToml(text).entries.get('inbound')?.value).find((table) => {
    const value = table.entries.get('tag')?.value;
    return value?.kind === 'string' && value.value === tag;
  });
  const settings = inbound?.entries.get('settings')?.value;
  const list = settings?.kind === 'table' ? settings.entries.get(key)?.value : undefined;
  return tables(list).map(({ span, entries }) => ({
    start: span.start,
    end: Math.max(span.end, ...Array.from(entries.values(), ({ value }) => value.span.end)),
  }));
}

/** Whether all characters of `part` stand in `whole`, in this order. */
function isWithin(part: string, whole: string): boolean {
  let at = 0;
  for (const char of part) {
    at = whole.indexOf(char, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

/** Line ends of a kind that the document did not have. */
function checkLineEnds(before: string, after: string): void {
  if (!before.includes('\r')) assert.ok(!after.includes('\r'), 'LF is kept');
  else if (!/(?<!\r)\n/.test(before)) assert.doesNotMatch(after, /(?<!\r)\n/, 'CRLF is kept');
  assert.equal(after.endsWith('\n'), before.endsWith('\n'), 'the end of the file is kept');
}

/**
 * A user is added, and every user is removed:
 *
 * - Another parser reads the intended value, and nothing else has changed.
 * - Every comment stays, once, beside what it stood beside: see `ownedComments`. A new element gets none but its label.
 * - With an element go the comments within it and on its line, and the labels directly above it. Other comments above
 *   it stay, and do not get beside another element.
 * - What is added and removed again leaves no trace.
 * - Up to the element before, and from the one after, no byte changes.
 */
export function checkListEdits({ text, tag, added }: ListCase): void {
  const list = listOf(text, tag);
  const { key } = list;
  const before = inboundOf(dataOf(text), tag).settings?.[key] ?? [];
  const labels = list.elements.map(({ label }) => label);
  assert.equal(labels.length, before.length);
  const spans = elementsOf(text, tag, key);
  const comments = ownedComments(text, spans);

  const grown = list.append(added);
  assert.deepEqual(
    dataOf(grown),
    dataWith(text, tag, key, [...before, Object.fromEntries(added.pairs)]),
  );
  assert.ok(isWithin(text, grown), 'only characters were added');
  checkLineEnds(text, grown);
  const again = listOf(grown, tag);
  assert.deepEqual(
    again.elements.map(({ label }) => label),
    [...labels, added.label],
  );
  const note = `# name: ${added.label}`;
  const grownComments = ownedComments(grown, elementsOf(grown, tag, key));
  const others = grownComments.filter((comment) => comment.text !== note);
  const own = grownComments.filter((comment) => comment.text === note);
  assert.deepEqual(
    own.map(({ owner }) => owner),
    added.label === undefined ? [] : [before.length],
  );
  const isThere = inboundOf(dataOf(text), tag).settings?.[key] !== undefined;
  if (isThere) {
    assert.deepEqual(others, comments);
    assert.equal(again.remove(before.length), text, 'what was added leaves no trace');
  } else {
    const made = elementsOf(grown, tag, key).map((span) => listAround(grown, span));
    const found = ownedComments(grown, made).filter((comment) => comment.text !== note);
    assert.deepEqual(found, comments);
    assert.ok(isWithin(again.remove(0), grown));
  }

  for (const [index, { start }] of spans.entries()) {
    const without = list.remove(index);
    const rest = before.toSpliced(index, 1);
    const isHeader = text[start] === '[';
    if (rest.length > 0 || !isHeader) {
      assert.deepEqual(dataOf(without), dataWith(text, tag, key, rest));
    } else dataOf(without);
    assert.deepEqual(
      listOf(without, tag).elements.map(({ label }) => label),
      labels.toSpliced(index, 1),
    );
    const strip = (whole: string): string => whole.replaceAll(/[\s,]/g, '');
    assert.ok(isWithin(strip(without), strip(text)), 'only characters were removed');
    checkLineEnds(text, without);
    const [previous, next] = [spans[index - 1], spans[index + 1]];
    if (previous) assert.ok(without.startsWith(text.slice(0, previous.end)));
    if (next) assert.ok(without.endsWith(text.slice(next.start)));
    assert.deepEqual(
      ownedComments(without, elementsOf(without, tag, key)),
      commentsWithout(comments, index),
    );

    const [name] = list.elements[index]?.values.keys() ?? [];
    if (name === undefined) continue;
    const changed = list.set(index, name, 'ключ "1"');
    const values = { ...(before[index] as object), [name]: 'ключ "1"' };
    assert.deepEqual(dataOf(changed), dataWith(text, tag, key, before.toSpliced(index, 1, values)));
  }
}
