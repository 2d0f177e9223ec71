import type { Span } from '../../../schema/node.ts';
import { deletion, insertion, type Splice } from '../splice.ts';
import { eolNear, indentAt, lineBreak, lineStart, nextLine } from '../toml-text.ts';
import { labelAbove, labelComment, labelsAbove, labelWithin, type Label } from './label.ts';
import { isBlank, isFirstOnLine } from './places.ts';

/** An array that is the value of a key, with the places of its elements. */
export interface ArrayPlaces {
  /** With the brackets. */
  readonly span: Span;
  readonly items: readonly Span[];
}

/** The text of a new element, `{ … }`, and its label. */
export interface NewItem {
  readonly item: string;
  readonly label?: string | undefined;
}

const STEP = '  ';

const noteOf = (label: string | undefined): string =>
  label === undefined ? '' : ` ${labelComment(label)}`;

/** The offset of the comma in a gap between two values, or after the last one. */
export function commaIn(text: string, from: number, to: number): number | undefined {
  for (let at = from; at < to;) {
    if (text[at] === ',') return at;
    at = text[at] === '#' ? lineBreak(text, at) : at + 1;
  }
  return undefined;
}

/**
 * Adds an element at the end of an array, in the layout of the last one. An element with a label has a line of
 * its own, since its comment goes to the end of that.
 */
export function appendToArray(
  text: string,
  { span, items }: ArrayPlaces,
  { item, label }: NewItem,
): readonly Splice[] {
  const last = items.at(-1);
  if (!last) return intoEmptyArray(text, span, { item, label });
  const close = span.end - 1;
  const comma = commaIn(text, last.end, close);
  const end = comma === undefined ? last.end : comma + 1;
  const breakAt = lineBreak(text, end);
  const hasBreak = breakAt < close;
  const ownLine = isFirstOnLine(text, last.start);
  const hasComment = hasBreak && !isBlank(text, end, breakAt);
  if (!ownLine && !hasComment && label === undefined) {
    return [comma === undefined ? insertion(end, `, ${item}`) : insertion(end, ` ${item},`)];
  }
  const eol = eolNear(text, end);
  const outer = indentAt(text, span.start);
  const indent = ownLine ? indentAt(text, last.start) : outer + STEP;
  const line = `${eol}${indent}${item}${comma === undefined ? '' : ','}${noteOf(label)}`;
  if (hasBreak) {
    const added = insertion(breakAt, line);
    return comma === undefined ? [insertion(last.end, ','), added] : [added];
  }
  const after = label === undefined ? '' : eol + outer;
  return [insertion(end, `${comma === undefined ? ',' : ''}${line}${after}`)];
}

function intoEmptyArray(text: string, span: Span, { item, label }: NewItem): readonly Splice[] {
  const close = span.end - 1;
  const line = lineStart(text, close);
  const eol = eolNear(text, close);
  if (line > span.start) {
    const indent = indentAt(text, close) + STEP;
    const first = nextLine(text, span.start);
    // A comment that was the label of an element must not become that of another.
    const isLabelled = label === undefined && labelAbove(text, close, first) !== undefined;
    return [insertion(isLabelled ? first : line, `${indent}${item},${noteOf(label)}${eol}`)];
  }
  if (label === undefined) return [insertion(span.start + 1, item)];
  const outer = indentAt(text, span.start);
  const lines = `${eol}${outer}${STEP}${item}${noteOf(label)}${eol}${outer}`;
  return [insertion(span.start + 1, lines)];
}

/** The text of an array with one element, for a new key on a line that is indented by `indent`. */
export const arrayText = ({ item, label }: NewItem, indent: string, eol: string): string =>
  `[${eol}${indent}${STEP}${item},${noteOf(label)}${eol}${indent}]`;

/** The label of an element: after it on its line, if no other element follows there, or above its line. */
export function labelInArray(
  text: string,
  { span, items }: ArrayPlaces,
  index: number,
): Label | undefined {
  const element = items[index];
  if (!element) return undefined;
  const next = items[index + 1]?.start ?? span.end - 1;
  const broken = text.slice(element.end, next).indexOf('\n');
  const end = element.end + broken;
  const after = broken < 0 ? undefined : labelWithin(text, { start: element.end, end });
  if (after || !isFirstOnLine(text, element.start)) return after;
  const previous = items[index - 1]?.end ?? span.start;
  return labelAbove(text, element.start, nextLine(text, previous));
}

/**
 * Removes an element, with the comma that it needed, its label, and the comment after it if its line holds
 * nothing else. What `appendToArray` has added leaves no trace but for the line break that a label needed before
 * the bracket.
 */
export function removeFromArray(
  text: string,
  places: ArrayPlaces,
  index: number,
): readonly Splice[] {
  const { span, items } = places;
  const element = items[index];
  if (!element) throw new RangeError(`an array of ${items.length} has no element ${index}`);
  const close = span.end - 1;
  const previousEnd = items[index - 1]?.end ?? span.start + 1;
  const next = items[index + 1]?.start ?? close;
  const gap: Gap = {
    element,
    previousEnd,
    next,
    commaBefore: index === 0 ? undefined : commaIn(text, previousEnd, element.start),
    commaAfter: commaIn(text, element.end, next),
    label: labelInArray(text, places, index),
    above: isFirstOnLine(text, element.start)
      ? labelsAbove(text, element.start, nextLine(text, items[index - 1]?.end ?? span.start))
      : [],
  };
  const isLastOnLine = lineBreak(text, element.end) < next;
  const isFirst = isFirstOnLine(text, element.start) && lineStart(text, element.start) > span.start;
  return isFirst && isLastOnLine
    ? withItsLines(text, span, gap)
    : fromSharedLine(text, gap, index > 0, index + 1 < items.length);
}

/** An element and what separates it from its neighbours. */
interface Gap {
  readonly element: Span;
  /** The end of the element before, or the offset after the opening bracket. */
  readonly previousEnd: number;
  /** The start of the element after, or the offset of the closing bracket. */
  readonly next: number;
  readonly commaBefore: number | undefined;
  readonly commaAfter: number | undefined;
  readonly label: Label | undefined;
  /** The labels above it, which the next element must not get. */
  readonly above: readonly Label[];
}

/** Whether two elements have nothing but blanks and a comma between them. */
const hasNothingBetween = (text: string, from: number, to: number): boolean =>
  text.slice(from, to).replace(',', '').trim() === '';

const commaDeletion = (at: number): Splice => deletion(at, at + 1);

function withItsLines(
  text: string,
  span: Span,
  { element, previousEnd, next, commaBefore, commaAfter, above }: Gap,
): readonly Splice[] {
  const start = lineStart(text, element.start);
  const end = nextLine(text, element.end);
  const splices: Splice[] = [];
  // On a line of its own in an array that is written on one line: see `appendToArray`.
  const isBroken =
    (commaBefore !== undefined || commaAfter === undefined) &&
    lineStart(text, previousEnd) === lineStart(text, span.start);
  const isAlone = hasNothingBetween(text, previousEnd, start);
  if (isBroken && isAlone && next === span.end - 1 && isBlank(text, end, next)) {
    const from = commaAfter === undefined ? previousEnd : (commaBefore ?? previousEnd) + 1;
    const outer = indentAt(text, span.start);
    return [deletion(from, end + (text.startsWith(outer, end) ? outer.length : 0))];
  }
  if (commaAfter === undefined && commaBefore !== undefined) {
    splices.push(commaDeletion(commaBefore));
  }
  splices.push(...above.map((each) => lineDeletion(text, each)));
  splices.push(deletion(start, end));
  if (commaAfter !== undefined && commaAfter >= end) splices.push(commaDeletion(commaAfter));
  return splices;
}

/** Deletes the line of a label that has one of its own. */
const lineDeletion = (text: string, { comment }: Label): Splice =>
  deletion(lineStart(text, comment.start), nextLine(text, comment.end));

function fromSharedLine(
  text: string,
  { element: { start, end }, previousEnd, next, commaBefore, commaAfter, label, above }: Gap,
  hasPrevious: boolean,
  hasNext: boolean,
): readonly Splice[] {
  const isOneLine = (from: number, to: number): boolean => lineBreak(text, from) >= to;
  const splices = above.map((each) => lineDeletion(text, each));
  const hasOwnComma = commaAfter !== undefined && isBlank(text, end, commaAfter);
  const isLast = hasPrevious && !hasNext && hasNothingBetween(text, previousEnd, start);
  if (hasPrevious && isOneLine(previousEnd, start)) {
    splices.push(deletion(previousEnd, end));
  } else if (isLast && (hasOwnComma || commaAfter === undefined)) {
    // Before the bracket on its line: the line break before it goes as well.
    splices.push(
      hasOwnComma && commaBefore !== undefined
        ? deletion(commaBefore + 1, commaAfter + 1)
        : deletion(previousEnd, end),
    );
  } else if (hasNext && isOneLine(end, next)) {
    splices.push(deletion(start, next));
  } else if (hasOwnComma) {
    splices.push(deletion(start, commaAfter + 1));
  } else {
    if (commaAfter === undefined && commaBefore !== undefined) {
      splices.unshift(commaDeletion(commaBefore));
    }
    splices.push(deletion(start, end));
    if (commaAfter !== undefined) splices.push(commaDeletion(commaAfter));
  }
  if (label && label.comment.start >= end) {
    // Only white space and perhaps a comma that stays stand before the comment.
    const done = splices.at(-1);
    const floor = done ? done.at + done.remove : end;
    let from = label.comment.start;
    while (from > floor && (text[from - 1] === ' ' || text[from - 1] === '\t')) from -= 1;
    splices.push(deletion(from, label.comment.end));
  }
  return splices;
}
