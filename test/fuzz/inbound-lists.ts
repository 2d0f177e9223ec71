import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { parse } from 'smol-toml';
import {
  ConfigInbounds,
  type InboundList,
  type NewElement,
} from '../../src/config/edit/lists/inbound-list.ts';
import { SourceText } from '../../src/config/sources/source-text.ts';
import { Choices } from './choices.ts';

/** A configuration in some layout, the tag of an inbound in it, and a user to add. */
export interface ListCase {
  readonly text: string;
  readonly tag: string;
  readonly added: NewElement;
}

const KEYS = ['users', 'clients'] as const;

const VALUES = ['a', 'ann # x', 'it "is"', "o'c", '[[x]]', '😀', 'b\\n', ''] as const;
const NOTES = ['# note', '# a, ] } "', "# it's", '#', '# name of none', '#\tname: too'] as const;

/** Writes documents whose layout is chosen at random. */
class Writer {
  readonly #choices: Choices;
  readonly #eol: string;

  constructor(choices: Choices) {
    this.#choices = choices;
    this.#eol = choices.from(['\n', '\n', '\r\n']);
  }

  document(): { readonly text: string; readonly tag: string } {
    const choices = this.#choices;
    const tags = ['in', 'other', 'a.b'].slice(0, 1 + choices.below(3));
    const body = choices.from([true, true, true, false])
      ? tags.map((tag) => this.#section(tag)).join(this.#between())
      : `inbound = [${tags.map((tag) => this.#inlineInbound(tag)).join(', ')}]${this.#eol}`;
    const head = choices.from(['', '# head\n', '\n\n', '[log]\nlevel = "info"\n']);
    const isInline = body.startsWith('inbound = ');
    const before = isInline && head.startsWith('[') ? '' : head.replaceAll('\n', this.#eol);
    const tail = choices.from(['', '', '# end\n', '\n[log2]\nx = """\n# name: no\n"""\n', '\n\n']);
    const text = before + body + tail.replaceAll('\n', this.#eol);
    const cut = choices.from([false, false, true]) ? text.replace(/(?:\r?\n)+$/, '') : text;
    return { text: cut, tag: tags[choices.below(tags.length)] ?? 'in' };
  }

  #between(): string {
    return this.#choices.from(['', this.#eol, `${this.#eol}# between${this.#eol}`]);
  }

  #string(): string {
    const value = this.#choices.from(VALUES);
    return this.#choices.from([true, false]) || value.includes("'")
      ? JSON.stringify(value)
      : `'${value}'`;
  }

  #pairs(): string[] {
    const choices = this.#choices;
    const equals = choices.from([' = ', ' = ', '=', '\t=  ']);
    return choices.from<string[]>([
      [`password${equals}${this.#string()}`, `email${equals}${this.#string()}`],
      [`id${equals}${this.#string()}`],
      [`"id"${equals}${this.#string()}`],
      [],
    ]);
  }

  #comment(): string {
    const choices = this.#choices;
    return choices.from([
      '',
      '',
      ` ${choices.from(NOTES)}`,
      ` # name: ${choices.from(['ann', 'bob b', '#1'])}`,
    ]);
  }

  /** Comments and line breaks between two elements. */
  #gap(): string {
    const choices = this.#choices;
    const line = (): string => this.#comment() + this.#eol;
    return choices.from(['', ' ', `${line()}  `, `${line()} ${line()}\t`, `${line()}${line()}`]);
  }

  #table(): string {
    const pad = this.#choices.from(['', ' ']);
    return `{${pad}${this.#pairs().join(', ')}${pad}}`;
  }

  #array(): string {
    const choices = this.#choices;
    const count = choices.below(5);
    const even = choices.from([undefined, undefined, `${this.#eol}  `, ' ', '']);
    const gap = (): string => even ?? this.#gap();
    let text = `[${gap()}`;
    for (let at = 0; at < count; at += 1) {
      const isLast = at + 1 === count;
      const comma = isLast && choices.from([true, false]) ? '' : ',';
      text += this.#table() + (even === undefined ? this.#gap() : '') + comma + gap();
    }
    return `${text}]`;
  }

  #section(tag: string): string {
    const choices = this.#choices;
    const eol = this.#eol;
    const key = choices.from(KEYS);
    const line = (text: string): string => `${text}${this.#comment()}${eol}`;
    const indent = choices.from(['', '', '  ']);
    let text = line(choices.from(['[[inbound]]', '[[ "inbound" ]]', `${indent}[[inbound]]`]));
    text += line(`tag = ${JSON.stringify(tag)}`) + line('protocol = "trojan"');
    switch (choices.from<string>(['none', 'header', 'braces', 'dotted', 'below', 'list', 'list'])) {
      case 'none':
        return text;
      case 'header':
        text += eol + line('[inbound.settings]') + line(`${indent}method = "x"`);
        if (choices.from([true, false])) text += line(`${key} = ${this.#array()}`);
        return choices.from([true, false])
          ? text
          : text + eol + line('[inbound.settings.masquerade]');
      case 'braces':
        return text + line(`settings = { method = "x", ${key} = ${this.#array()} }`);
      case 'dotted':
        text += line('settings.method = "x"');
        return choices.from([true, false])
          ? text
          : text + line(`settings."${key}" = ${this.#array()}`);
      case 'below':
        return text + line('[inbound.settings.masquerade]') + line('status = 404');
      default: {
        if (choices.from([true, false])) text += eol + line('[inbound.settings]');
        const apart = choices.from(['', eol]);
        for (let at = choices.below(5); at > 0; at -= 1) {
          if (choices.from([true, false, false])) text += apart + line('# name: above').trimStart();
          else text += apart;
          text += line(`${indent}[[inbound.settings.${key}]]`);
          for (const pair of this.#pairs()) text += line(indent + indent + pair);
        }
        return choices.from([true, false]) ? text : text + line('[inbound.stream]');
      }
    }
  }

  #inlineInbound(tag: string): string {
    const choices = this.#choices;
    const key = choices.from(KEYS);
    const settings = choices.from([
      '',
      ', settings = {}',
      ', settings.method = "x"',
      `, settings = { ${key} = ${this.#array()} }`,
      `, settings.${key} = ${this.#array()}`,
    ]);
    return `{ tag = ${JSON.stringify(tag)}${settings} }`;
  }
}

export const listCases: fc.Arbitrary<ListCase> = fc
  .tuple(
    // With more of them commas begin lines, where a comment may be taken for the label of another element.
    fc.uint8Array({ minLength: 8, maxLength: 26 }),
    fc.constantFrom(...VALUES),
    fc.boolean(),
  )
  .map(([bytes, value, labelled]) => {
    const writer = new Writer(new Choices(bytes));
    const added: NewElement = labelled
      ? { pairs: [['id', value]], label: 'new # one' }
      : {
          pairs: [
            ['password', value],
            ['email', 'x'],
          ],
        };
    return { ...writer.document(), added };
  });

const listOf = (text: string, tag: string): InboundList => {
  const list = new ConfigInbounds(new SourceText(text, undefined)).list(tag, KEYS);
  assert.ok(list);
  return list;
};

interface Data {
  readonly inbound: { readonly tag: string; settings?: Record<string, unknown> }[];
}

/** The document as another parser reads it, with the list of the inbound replaced. */
function dataWith(text: string, tag: string, key: string, list: readonly unknown[]): unknown {
  const data = parse(text) as unknown as Data;
  const inbound = data.inbound.find((one) => one.tag === tag);
  assert.ok(inbound);
  inbound.settings = { ...inbound.settings, [key]: list };
  return plain(data);
}

/** Without prototypes. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Whether all characters of `part` stand in `whole`, in this order. */
function isWithin(part: string, whole: string): boolean {
  let at = 0;
  for (const char of part) {
    at = whole.indexOf(char, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

const objects = (list: InboundList): unknown[] =>
  list.elements.map(({ values }) => Object.fromEntries(values));

/** A user is added, and every user is removed, and nothing else changes. */
export function checkListEdits({ text, tag, added }: ListCase): void {
  const list = listOf(text, tag);
  const before = objects(list);
  const labels = list.elements.map(({ label }) => label);
  const grown = list.append(added);
  assert.deepEqual(
    plain(parse(grown)),
    dataWith(text, tag, list.key, [...before, Object.fromEntries(added.pairs)]),
  );
  assert.ok(isWithin(text, grown), 'only characters were added');
  const again = listOf(grown, tag);
  assert.deepEqual(
    again.elements.map(({ label }) => label),
    [...labels, added.label],
  );
  const shrunk = again.remove(before.length);
  assert.ok(isWithin(shrunk, grown), 'only characters were removed');
  if (before.length > 0) assert.equal(shrunk, text, 'what was added leaves no trace');

  for (const index of before.keys()) {
    const without = list.remove(index);
    assert.ok(isWithin(without, text));
    const rest = before.toSpliced(index, 1);
    const data = dataWith(text, tag, list.key, rest);
    const found = listOf(without, tag);
    assert.deepEqual(objects(found), rest);
    if (rest.length > 0) {
      assert.deepEqual(plain(parse(without)), data);
      const kept = labels.toSpliced(index, 1);
      assert.deepEqual(
        found.elements.map(({ label }) => label),
        kept,
      );
    } else parse(without);
    const [key] = list.elements[index]?.values.keys() ?? [];
    if (key === undefined) continue;
    const changed = list.set(index, key, 'ключ "1"');
    const values = { ...(before[index] as object), [key]: 'ключ "1"' };
    assert.deepEqual(
      plain(parse(changed)),
      dataWith(text, tag, list.key, before.toSpliced(index, 1, values)),
    );
  }
}
