import { traverseNodes } from 'toml-eslint-parser';
import { lineBreak, lineStart, nextLine } from '@weir/config/text';
import type { Span } from '@weir/proxy/schema';
import { parseText } from '../../packages/config/src/toml/parse.ts';

/** A comment of a document, and what it stands beside. */
export interface OwnedComment {
  readonly text: string;
  /** The index of an element of the list, or the name of another key or header. */
  readonly owner: number | string | undefined;
  /** Within the element, on the line on which it ends, or in the lines directly above it. */
  readonly place: 'inside' | 'line' | 'above' | undefined;
}

interface Thing extends Span {
  readonly owner: number | string;
}

/** A line that holds nothing but commas and a comment. */
const BETWEEN = /^[ \t,]*(?:#[^\n]*)?$/;

const isBlank = (line: string): boolean => line.trim() === '';

/**
 * Which element of a list, or else which key or header, each comment of a document belongs to, by its lines: what
 * ends last before it on its line, if nothing else begins there; otherwise what begins the first line below, if nothing but comments and commas,
 * and no empty line, is between.
 *
 * @param elements inline tables, or `[[…]]` headers with the keys below them
 */
export function ownedComments(text: string, elements: readonly Span[]): readonly OwnedComment[] {
  const program = parseText(text);
  const things: Thing[] = elements.map((span, owner) => ({ ...span, owner }));
  let others = 0;
  const add = (start: number, end: number): void => {
    if (elements.some((element) => element.start <= start && start < element.end)) return;
    others += 1;
    things.push({ start, end, owner: `other ${others}` });
  };
  traverseNodes(program, {
    enterNode: (node) => {
      if (node.type === 'TOMLKeyValue') add(...node.range);
      if (node.type === 'TOMLTable') add(node.range[0], text.indexOf(']', node.key.range[1]));
    },
    leaveNode: () => undefined,
  });
  return program.comments.map(({ range: [start, end] }) => ({
    text: text.slice(start, end).trimEnd(),
    ...ownerAt(text, start, things),
  }));
}

/** The key with the array that has this element; the element itself if that has a header. */
export function listAround(text: string, element: Span): Span {
  let list = element;
  traverseNodes(parseText(text), {
    enterNode: (node) => {
      if (node.type !== 'TOMLKeyValue' || node.value.type !== 'TOMLArray') return;
      const [start, end] = node.range;
      if (start < element.start && element.end < end) list = { start, end };
    },
    leaveNode: () => undefined,
  });
  return list;
}

/**
 * The comments that are to be there without an element: those within it and on its line go with it, and so do the
 * names directly above it. Others above it belong to none then.
 */
export const commentsWithout = (
  comments: readonly OwnedComment[],
  index: number,
): readonly OwnedComment[] =>
  comments.flatMap(({ text, owner, place }) => {
    if (typeof owner !== 'number' || owner < index) return [{ text, owner, place }];
    if (owner > index) return [{ text, owner: owner - 1, place }];
    const isGone = place !== 'above' || /^#\s*name:\s*\S/.test(text);
    return isGone ? [] : [{ text, owner: undefined, place: undefined }];
  });

function ownerAt(
  text: string,
  at: number,
  things: readonly Thing[],
): Pick<OwnedComment, 'owner' | 'place'> {
  const around = things.find(
    ({ start, end, owner }) => typeof owner === 'number' && start < at && at < end,
  );
  if (around) return { owner: around.owner, place: 'inside' };
  const line = lineStart(text, at);
  const before = things.filter(({ end }) => end > line && end <= at);
  const [last] = before.toSorted((a, b) => b.end - a.end);
  const none = { owner: undefined, place: undefined };
  const isOpened = (from: number): boolean =>
    things.some(({ start, end }) => start >= from && start < at && at < end);
  if (last) return isOpened(last.end) ? none : { owner: last.owner, place: 'line' };
  if (!BETWEEN.test(text.slice(line, lineBreak(text, at)))) return none;
  for (let below = nextLine(text, at); below < text.length; below = nextLine(text, below)) {
    const content = text.slice(below, lineBreak(text, below));
    if (isBlank(content)) return none;
    if (BETWEEN.test(content)) continue;
    const first = below + content.search(/[^ \t,]/);
    const thing = things.find(({ start }) => start === first);
    return thing ? { owner: thing.owner, place: 'above' } : none;
  }
  return none;
}
