import * as fc from 'fast-check';
import type { NewElement } from '../../packages/config/src/edit/lists/inbound-list.ts';
import { arrayText } from './array-layouts.ts';
import { Choices } from './choices.ts';

/** A configuration in some layout, the tag of an inbound in it, and a user to add. */
export interface ListCase {
  readonly text: string;
  readonly tag: string;
  readonly added: NewElement;
}

/** The names of a list, the preferred one first. */
export const KEYS = ['users', 'clients'] as const;

const VALUES = [
  'a',
  'ann # x',
  'it "is"',
  "o'c",
  'a, b] # {c}',
  '[[x]]',
  '😀',
  'b\\n',
  '',
] as const;

const NESTED = '{ list = [1, 2], text = "}] # ," }';

/** Writes documents whose layout is chosen at random. No two comments have the same text. */
class Writer {
  readonly #choices: Choices;
  readonly #lineEnds: 'lf' | 'crlf' | 'mixed';
  #numbers = 0;

  constructor(choices: Choices) {
    this.#choices = choices;
    this.#lineEnds = choices.from(['lf', 'lf', 'crlf', 'mixed']);
  }

  document(): { readonly text: string; readonly tag: string } {
    const choices = this.#choices;
    const tags = ['in', 'other', 'a.b'].slice(0, 1 + choices.below(3));
    const body = choices.from([true, true, true, false])
      ? tags.map((tag) => this.#section(tag)).join(this.#between())
      : `inbound = [${tags.map((tag) => this.#inlineInbound(tag)).join(', ')}]${this.#eol()}`;
    const head = choices.from(['', '# head\n', '\n\n', '[log]\nlevel = "info"\n']);
    const isInline = body.startsWith('inbound = ');
    const before = isInline && head.startsWith('[') ? '' : head.replaceAll('\n', this.#eol);
    const tail = choices.from(['', '', '# end\n', '\n[log2]\nx = """\n# name: no\n"""\n', '\n\n']);
    const text = before + body + tail.replaceAll('\n', this.#eol);
    const cut = choices.from([false, false, true]) ? text.replace(/(?:\r?\n)+$/, '') : text;
    return { text: cut, tag: tags[choices.below(tags.length)] ?? 'in' };
  }

  readonly #eol = (): string => {
    const isCrlf =
      this.#lineEnds === 'crlf' || (this.#lineEnds === 'mixed' && this.#choices.oneIn(2));
    return isCrlf ? '\r\n' : '\n';
  };

  #between(): string {
    return this.#choices.from(['', this.#eol(), `${this.#eol()}# between${this.#eol()}`]);
  }

  #number(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  #string(): string {
    const value = this.#choices.from(VALUES);
    const form = this.#choices.below(5);
    if (form === 4) return `"""${this.#eol()}# name: no"""`;
    return form < 2 || value.includes("'") ? JSON.stringify(value) : `'${value}'`;
  }

  #pairs(): string[] {
    const choices = this.#choices;
    const equals = choices.from([' = ', ' = ', '=', '\t=  ']);
    const pair = (key: string): string => key + equals + this.#string();
    const keys = choices.from<string[]>([
      ['password', 'email'],
      ['id'],
      ['"id"'],
      [],
      ['more', 'id'],
    ]);
    return keys.map((key) => (key === 'more' ? `more${equals}${NESTED}` : pair(key)));
  }

  readonly #comment = (): string => {
    const number = this.#number();
    return this.#choices.from([
      `# note ${number}`,
      `# name: ann ${number}`,
      `# name: #${number}`,
      `# ${number}, ] } "`,
      `# it's ${number}`,
      `#${number}`,
      `# { id = "${number}" },`,
      `#\tname: too ${number}`,
    ]);
  };

  #tail(): string {
    return this.#choices.from([true, true, false]) ? '' : ` ${this.#comment()}`;
  }

  readonly #table = (): string => {
    const choices = this.#choices;
    const [pairs, pad] = [this.#pairs(), choices.from(['', ' '])];
    if (!choices.oneIn(8)) return `{${pad}${pairs.join(', ')}${pad}}`;
    const lines = pairs.map((pair) => `    ${pair},${this.#tail()}${this.#eol()}`);
    return `{${this.#tail()}${this.#eol()}${lines.join('')}  }`;
  };

  #array(): string {
    const [choices, eol, comment, table] = [this.#choices, this.#eol, this.#comment, this.#table];
    return arrayText({ choices, eol, comment, table });
  }

  #section(tag: string): string {
    const choices = this.#choices;
    const key = choices.from(KEYS);
    const line = (text: string): string => `${text}${this.#tail()}${this.#eol()}`;
    const indent = choices.from(['', '', '  ']);
    let text = line(choices.from(['[[inbound]]', '[[ "inbound" ]]', `${indent}[[inbound]]`]));
    text += line(`tag = ${JSON.stringify(tag)}`) + line('protocol = "trojan"');
    switch (choices.from<string>(['none', 'header', 'braces', 'dotted', 'below', 'list', 'list'])) {
      case 'none':
        return text;
      case 'header':
        text += this.#eol() + line('[inbound.settings]') + line(`${indent}method = "x"`);
        if (choices.from([true, true, false])) text += line(`${indent}${key} = ${this.#array()}`);
        return choices.from([true, false])
          ? text
          : text + this.#eol() + line('[inbound.settings.masquerade]');
      case 'braces':
        return text + line(`settings = { method = "x", ${key} = ${this.#array()} }`);
      case 'dotted':
        text += line('settings.method = "x"');
        return choices.from([true, false])
          ? text
          : text + line(`settings."${key}" = ${this.#array()}`);
      case 'below':
        return text + line('[inbound.settings.masquerade]') + line('status = 404');
      default:
        if (choices.from([true, false])) text += this.#eol() + line('[inbound.settings]');
        if (choices.oneIn(4)) text += line(`note = ${this.#string()}`);
        text += this.#blocks(key, indent);
        return choices.from([true, false]) ? text : text + line('[inbound.stream]');
    }
  }

  /** A list below headers, with comments and empty lines anywhere. */
  #blocks(key: string, indent: string): string {
    const choices = this.#choices;
    const line = (text: string): string => `${text}${this.#tail()}${this.#eol()}`;
    const some = (): string =>
      choices
        .from(['', '', '\n', '#\n', `#\n${indent}#\n`, '#\n\n'])
        .replaceAll('#', this.#comment)
        .replaceAll('\n', this.#eol);
    const apart = choices.from(['', this.#eol()]);
    let text = '';
    for (let at = choices.below(5); at > 0; at -= 1) {
      text += apart + some() + line(`${indent}[[inbound.settings.${key}]]`);
      for (const pair of this.#pairs()) {
        text += (choices.oneIn(4) ? some() : '') + line(indent + indent + pair);
      }
    }
    return text + some();
  }

  #inlineInbound(tag: string): string {
    const choices = this.#choices;
    const key = choices.from(KEYS);
    const settings = choices.from([
      '',
      ', settings = {}',
      ', settings.method = "x"',
      `, settings = { ${key} = ARRAY }`,
      `, settings.${key} = ARRAY`,
    ]);
    const array = (): string => this.#array();
    return `{ tag = ${JSON.stringify(tag)}${settings.replace('ARRAY', array)} }`;
  }
}

export const listCases: fc.Arbitrary<ListCase> = fc
  .tuple(
    fc.uint8Array({ minLength: 8, maxLength: 160, size: 'max' }),
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
