import { gapIn, isEmptyLine, type Gap, type GapLine } from '../../config/edit/lists/gap.ts';
import { basicString, eolNear, indentAt, terminalSafe } from '../../config/edit/toml-text.ts';
import type { ArrayNode } from '../../schema/node.ts';
import type { MemberPlan } from './members.ts';

/** Maximum characters of a list on one line. */
const LONGEST_LINE = 100;

const STEP = '  ';

/**
 * Formats the array of a balancer's members after a change. Kept members keep the comments beside and above them; an
 * array with comments or line breaks gets a line for each member.
 */
export function memberList(
  text: string,
  { span, items }: Pick<ArrayNode, 'span' | 'items'>,
  { members, last }: MemberPlan,
): string {
  const bounds = [span.start + 1, ...items.map((item) => item.span.end)];
  const gaps = bounds.map((start, index) =>
    gapIn(text, { start, end: items[index]?.span.start ?? span.end - 1 }),
  );
  const names = [
    ...members.flatMap(({ name, isKept, before, after }) => [
      ...before,
      ...(isKept ? [name] : []),
      ...after,
    ]),
    ...last,
  ];
  const line = `[${names.map(literal).join(', ')}]`;
  const isOnOneLine = gaps.every(({ isBroken, first }) => !isBroken && !first.comment);
  if (isOnOneLine && line.length <= LONGEST_LINE) return line;

  const outer = indentAt(text, span.start);
  const firstBroken = items.find((_, index) => gaps[index]?.isBroken);
  const indent = firstBroken ? indentAt(text, firstBroken.span.start) : outer + STEP;
  const lineOf = (name: string, comment = ''): string => `${indent}${literal(name)},${comment}`;
  const beside = (gap: Gap | undefined): string => commentText(text, gap?.first);
  const above = (gap: Gap | undefined): readonly string[] =>
    (gap?.lines ?? [])
      .slice(1, -1)
      .filter((each) => each.comment ?? isEmptyLine(each))
      .map((each) => (each.comment ? indent + commentText(text, each).trimStart() : ''));
  const lines = [
    `[${beside(gaps[0])}`,
    ...members.flatMap(({ name, isKept, before, after }, index) => [
      ...before.map((each) => lineOf(each)),
      ...above(gaps[index]),
      ...(isKept ? [lineOf(name, beside(gaps[index + 1]))] : []),
      ...after.map((each) => lineOf(each)),
    ]),
    ...above(items.length === 0 ? undefined : gaps.at(-1)),
    ...last.map((each) => lineOf(each)),
    `${outer}]`,
  ];
  return lines.join(eolNear(text, span.start));
}

const literal = (name: string): string => terminalSafe(basicString(name));

/** The comment of a line, after a space; empty if it has none. */
const commentText = (text: string, line: GapLine | undefined): string =>
  line?.comment ? ` ${text.slice(line.comment.start, line.comment.end).trimEnd()}` : '';
