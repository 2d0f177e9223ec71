import type { OpenTable } from '../../toml/tree.ts';
import { intoBraces, arrayText, type NewItem } from './array-form.ts';
import { insertion, type Splice } from '../splice.ts';
import {
  basicString,
  dottedKey,
  endsLine,
  eolNear,
  indentAt,
  keyText,
  nextLine,
} from '../toml-text.ts';
import { firstBlock, contentEnd, pairSpan } from './header-form.ts';

/** The style in which a file writes such lists: `[[…]]` headers, or a key with an array. */
export type ListStyle = 'headers' | 'array' | undefined;

/** The first element of a list. */
export interface FirstElement extends NewItem {
  readonly pairs: readonly (readonly [key: string, value: string])[];
}

const SETTINGS = 'settings';

/** Creates the list `settings.<key>` of an inbound, in the form that TOML allows there and the file uses. */
export function createList(
  text: string,
  inbound: OpenTable,
  key: string,
  style: ListStyle,
  first: FirstElement,
): readonly Splice[] {
  const settings = inbound.entries.get(SETTINGS)?.value;
  if (settings?.kind === 'table') {
    if (settings.madeBy === 'braces') {
      return intoTable(text, settings, keyText(key), first);
    }
    if (settings.madeBy === 'key') return afterDotted(text, inbound, settings, key, first);
    if (settings.isDefined && style !== 'headers') {
      return afterKeys(text, settings, keyText(key), first);
    }
  }
  if (inbound.madeBy === 'braces') {
    return intoTable(text, inbound, `${SETTINGS}.${keyText(key)}`, first);
  }
  return withHeader(text, inbound, key, first);
}

/** Creates the list below all keys of the inbound, as `[[inbound.settings.users]]`. */
function withHeader(
  text: string,
  inbound: OpenTable,
  key: string,
  { pairs, label }: FirstElement,
): readonly Splice[] {
  const [array] = text.slice(inbound.span.start, inbound.span.end).split(']');
  const name = array?.slice(array.lastIndexOf('[') + 1).trim() ?? '';
  const block = {
    header: `[[${name}.${dottedKey([SETTINGS, key])}]]`,
    lines: pairs.map(([name, value]) => `${keyText(name)} = ${basicString(value)}`),
    label,
  };
  return firstBlock(text, contentEnd(inbound), block, indentAt(text, inbound.span.start));
}

/** Creates the list after the last key of `[inbound.settings]`, before its subtables. */
function afterKeys(
  text: string,
  settings: OpenTable,
  name: string,
  first: FirstElement,
): readonly Splice[] {
  let last = settings.span;
  for (const { key, value } of settings.entries.values()) {
    const isBelow = (value.kind === 'table' || value.kind === 'array') && value.madeBy === 'header';
    if (!isBelow && contentEnd(value) > last.end) last = pairSpan(key, value);
  }
  return lineAfter(text, last, name, first);
}

/** Creates the list after the last `settings.… = …` of the inbound. */
function afterDotted(
  text: string,
  inbound: OpenTable,
  settings: OpenTable,
  key: string,
  first: FirstElement,
): readonly Splice[] {
  const name = `${SETTINGS}.${keyText(key)}`;
  if (inbound.madeBy === 'braces') return intoTable(text, inbound, name, first);
  let last = inbound.span;
  for (const entry of settings.entries.values()) {
    const end = contentEnd(entry.value);
    if (end > last.end) last = { start: entry.key.start, end };
  }
  return lineAfter(text, last, name, first);
}

function lineAfter(
  text: string,
  neighbour: { readonly start: number; readonly end: number },
  name: string,
  first: FirstElement,
): readonly Splice[] {
  const at = nextLine(text, neighbour.end);
  const eol = eolNear(text, at);
  const indent = indentAt(text, neighbour.start);
  const line = `${indent}${name} = ${arrayText(first, indent, eol)}`;
  return [insertion(at, endsLine(text, at) ? line + eol : eol + line)];
}

/** Creates the list in an inline table. */
function intoTable(
  text: string,
  table: OpenTable,
  name: string,
  first: FirstElement,
): readonly Splice[] {
  const { span } = table;
  const indent = indentAt(text, span.start);
  const list =
    first.label === undefined
      ? `[${first.item}]`
      : arrayText(first, indent, eolNear(text, span.start));
  const items = [...table.entries.values()]
    .map(({ key, value }) => pairSpan(key, value))
    .toSorted((a, b) => a.end - b.end);
  return intoBraces(text, { span, items }, `${name} = ${list}`);
}
