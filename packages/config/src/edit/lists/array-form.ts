import type { Span } from '@weir/proxy/schema';
import type { OpenArray, OpenTable } from '../../toml/tree.ts';
import {
  deletion,
  insertion,
  type Splice,
  breakBefore,
  eolNear,
  indentAt,
  nextLine,
} from '../toml-text.ts';
import {
  commaOf,
  type Gap,
  gapIn,
  hasOtherComments,
  isEmptyLine,
  labelAbove,
  labelComment,
  labelIn,
  ownLines,
} from './gap.ts';
import { pairsOf } from './header-form.ts';

/** An array or an inline table that is the value of a key, with the places of its elements or pairs. */
export interface ArrayPlaces {
  /** The place of the value, brackets included. */
  readonly span: Span;
  readonly items: readonly Span[];
}

export const placesOf = ({ span, items }: OpenArray): ArrayPlaces => ({
  span,
  items: items.map((item) => item.span),
});

/** The places of an inline table and its pairs, by their ends: a dotted key may go on after other keys. */
export const pairPlaces = (table: OpenTable): ArrayPlaces => ({
  span: table.span,
  items: pairsOf(table).toSorted((a, b) => a.end - b.end),
});

/** The text of a new element, `{ … }`, and its label. */
export interface NewItem {
  readonly item: string;
  readonly label?: string | undefined;
}

const STEP = '  ';

const noteOf = (label: string | undefined): string =>
  label === undefined ? '' : ` ${labelComment(label)}`;

/** Returns the offset after the element before that of an index, or after the opening bracket. */
const endBefore = ({ span, items }: ArrayPlaces, index: number): number =>
  items[index - 1]?.end ?? span.start + 1;

/** Returns the gap before an element, or before the closing bracket. */
const gapBefore = (text: string, places: ArrayPlaces, index: number): Gap =>
  gapIn(text, {
    start: endBefore(places, index),
    end: places.items[index]?.start ?? places.span.end - 1,
  });

/** Whether the first elements are on one line, except for line breaks within them. */
const isOnOneLine = (text: string, places: ArrayPlaces, count: number): boolean =>
  places.items.slice(0, count).every((_, index) => !gapBefore(text, places, index).isBroken);

/** Returns the label of an element: after the element on its line, or directly above it. */
export function labelInArray(text: string, places: ArrayPlaces, index: number): string | undefined {
  return (
    labelIn(text, gapBefore(text, places, index + 1).first.comment) ??
    labelAbove(text, gapBefore(text, places, index))
  );
}

/**
 * Adds an element at the end of an array, in the layout of the last one, on the line after that one if it has its own
 * line or a comment. An element with a label has its own line. Text below the last element stays below.
 */
export function appendToArray(
  text: string,
  places: ArrayPlaces,
  { item, label }: NewItem,
): readonly Splice[] {
  const { span, items } = places;
  const last = items.at(-1);
  if (!last) return intoEmptyArray(text, span, { item, label });
  const before = gapBefore(text, places, items.length - 1);
  const after = gapBefore(text, places, items.length);
  const { comma, comment } = after.first;
  const end = comma === undefined ? last.end : comma + 1;
  const ownLine = before.isBroken;
  if (!ownLine && !comment && label === undefined) {
    return [insertion(end, comma === undefined ? `, ${item}` : ` ${item},`)];
  }
  const eol = after.isBroken ? breakBefore(text, after.first.end) : eolNear(text, end);
  const outer = indentAt(text, span.start);
  const indent = ownLine ? indentAt(text, last.start) : outer + STEP;
  const isLeading = ownLine && before.last.comma !== undefined && comma === undefined;
  const head = isLeading ? text.slice(before.last.start, last.start) : indent;
  // Above the element where its removal would otherwise not restore the layout: see `isBrokenLine`.
  const isAbove =
    label !== undefined &&
    (after.isBroken ? !ownLine && !comment : !isOnOneLine(text, places, items.length));
  const line = head + item + (comma === undefined ? '' : ',');
  const added = isAbove
    ? `${eol}${indent}${labelComment(label)}${eol}${line}`
    : eol + line + noteOf(label) + (label === undefined || after.isBroken ? '' : eol + outer);
  const at = after.isBroken ? after.first.end - eol.length : end;
  const isCommaMissing = comma === undefined && !isLeading;
  return [...(isCommaMissing ? [insertion(last.end, ',')] : []), insertion(at, added)];
}

/**
 * Adds an element to an empty array. Existing comments stay apart from the new element: those on the first line above,
 * all others below.
 */
function intoEmptyArray(text: string, span: Span, { item, label }: NewItem): readonly Splice[] {
  const close = span.end - 1;
  const first = nextLine(text, span.start);
  if (first <= close) {
    const line = indentAt(text, close) + STEP + item;
    return [insertion(first, `${line},${noteOf(label)}${breakBefore(text, first)}`)];
  }
  if (label === undefined) return [insertion(span.start + 1, item)];
  const [eol, outer] = [eolNear(text, close), indentAt(text, span.start)];
  const lines = `${eol}${outer}${STEP}${item}${noteOf(label)}${eol}${outer}`;
  return [insertion(span.start + 1, lines)];
}

/** The text of an array with one element, for a new key on a line that is indented by `indent`. */
export const arrayText = ({ item, label }: NewItem, indent: string, eol: string): string =>
  `[${eol}${indent}${STEP}${item},${noteOf(label)}${eol}${indent}]`;

/** An element with the gaps around it. */
interface Place {
  readonly element: Span;
  readonly before: Gap;
  readonly after: Gap;
  /** The end of the element before; see `endBefore`. */
  readonly previousEnd: number;
  /** The start of the next element, if any. */
  readonly next: number | undefined;
}

/**
 * Removes an element with its comma, the comment on its line, and the labels directly above it. Other comments above it
 * stay, and an empty line keeps them from the next element. An element that `appendToArray` added is removed without a
 * trace.
 */
export function removeFromArray(
  text: string,
  places: ArrayPlaces,
  index: number,
): readonly Splice[] {
  const element = places.items[index];
  if (!element) throw new RangeError(`an array of ${places.items.length} has no element ${index}`);
  const place: Place = {
    element,
    before: gapBefore(text, places, index),
    after: gapBefore(text, places, index + 1),
    previousEnd: endBefore(places, index),
    next: places.items[index + 1]?.start,
  };
  const cut = cutOf(text, places, index, place);
  const labels = ownLines(text, place.before).filter(({ end }) => end <= cut.start);
  const cuts = [...labels, cut];
  return [
    ...commaChanges(place, cuts),
    ...apartFromNext(text, place),
    ...cuts.map(({ start, end }) => deletion(start, end)),
  ].toSorted((a, b) => a.at - b.at);
}

/** Returns the element, and the text on its line that is removed with it. */
function cutOf(text: string, places: ArrayPlaces, index: number, place: Place): Span {
  const { element, before, after, previousEnd, next } = place;
  const { comma, comment, end } = after.first;
  const rest = comment?.end ?? (comma === undefined ? element.end : comma + 1);
  const commaBefore = commaOf(before);
  const joined = {
    start: comma !== undefined && commaBefore !== undefined ? commaBefore + 1 : previousEnd,
    end: rest,
  };
  if (before.isBroken && after.isBroken) {
    if (isBrokenLine(place) && isOnOneLine(text, places, index)) {
      const outer = indentAt(text, places.span.start);
      return { start: joined.start, end: end + (text.startsWith(outer, end) ? outer.length : 0) };
    }
    const keepsBreak = needsEmptyLine(text, place);
    return {
      start: before.last.start,
      end: keepsBreak ? end - breakBefore(text, end).length : end,
    };
  }
  if (!after.isBroken && next !== undefined && (before.isBroken || commaBefore === undefined)) {
    return { start: element.start, end: next };
  }
  // The bracket does not go up to the line of a comment.
  const own = ownLines(text, before);
  const hasComments = before.lines.some((line) => line.comment && !own.includes(line));
  return before.isBroken && hasComments ? { start: element.start, end: rest } : joined;
}

/** Whether an array that was on one line may have been broken for the label of its last element. */
const isBrokenLine = ({ before, after, next }: Place): boolean =>
  next === undefined &&
  before.lines.length === 2 &&
  !before.first.comment &&
  before.last.comma === undefined &&
  (before.first.comma !== undefined || after.first.comma === undefined) &&
  after.lines.length === 2;

/** Whether comments above an element on a line of its own would be directly above the next element without it. */
const needsEmptyLine = (text: string, { before, after, next }: Place): boolean => {
  const below = after.lines[1];
  const isDirect = below && (below === after.last || !isEmptyLine(below));
  return next !== undefined && isDirect === true && hasOtherComments(text, before);
};

/** Inserts an empty line between the comments above an element and the next one, which takes its place on its line. */
const apartFromNext = (text: string, { before, after, next }: Place): readonly Splice[] =>
  next !== undefined && !after.isBroken && hasOtherComments(text, before)
    ? [insertion(before.last.start, breakBefore(text, before.last.start))]
    : [];

/** Removes one comma with an element, if there is one on either side. */
function commaChanges(
  { before, after, previousEnd }: Place,
  cuts: readonly Span[],
): readonly Splice[] {
  const commas = [commaOf(before), commaOf(after)].filter((comma) => comma !== undefined);
  const gone = commas.filter((comma) =>
    cuts.some(({ start, end }) => start <= comma && comma < end),
  );
  if (gone.length === 2) return [insertion(previousEnd, ',')];
  const [comma] = commas;
  if (gone.length === 1 || comma === undefined) return [];
  // A comma on its own line is removed with the line.
  const line = [before, after]
    .flatMap(({ lines }) => lines.slice(1, -1))
    .find((each) => each.comma === comma && !each.comment);
  return [line ? deletion(line.start, line.end) : deletion(comma, comma + 1)];
}

/** Adds `item`, a `key = value`, to an inline table, whose items are separated like the elements of an array. */
export function intoBraces(text: string, braces: ArrayPlaces, item: string): readonly Splice[] {
  const { span, items } = braces;
  const at = span.start + 1;
  const isOneLine = !text.slice(at, span.end).includes('\n');
  if (items.length > 0 || !isOneLine) return appendToArray(text, braces, { item });
  return [insertion(at, ` ${item}${text[at] === '}' ? ' ' : ''}`)];
}
