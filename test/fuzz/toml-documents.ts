import * as fc from 'fast-check';
import { parseToml } from '@weir/config/toml';
import type { Node } from '@weir/proxy/schema';
import { Choices } from './choices.ts';

/** A valid TOML 1.1 document, with or without a byte order mark, and a pick to write into it. */
export interface PickCase {
  readonly text: string;
  readonly subscribe: boolean;
  readonly group: string;
  readonly target: string;
}

const SCALARS = [
  '"a"',
  "'lit # eral'",
  '""',
  '1',
  '0xFF',
  '1_000',
  '+3.5e-2',
  '-inf',
  'nan',
  'true',
  '1979-05-27T07:32:00Z',
  '1979-05-27 07:32:00.5',
  '1979-05-27',
  '07:32',
  String.raw`"\" \\ \n \u00e9 \U0001F600 \e \x41"`,
  '"😀 # [route]"',
  '"""\n[subscribe.routes]\ndefault = "x" # no\n"""',
  '"""\n# not a comment"""',
  '"""a\\\n   b"""',
  "'''\n# default = 'x'\n[route]'''",
  '"""""two quotes"""""',
] as const;

const NAMES = [
  'default',
  'a',
  'Video Streaming',
  'ключ',
  '😀',
  'a.b',
  '',
  '"',
  "it's",
  'tab\there',
  'x-1_2',
  'constructor',
] as const;

const GROUPS = ['default', 'a', 'Video Streaming', '😀', 'a.b'] as const;

const ROOT_NAMES = ['subscribe', 'route', 'outbound', 'subscribe', 'route', 'a.b', 'x'] as const;
const SUBSCRIBE_NAMES = ['routes', 'path', 'routes', 'other'] as const;
const ROUTE_NAMES = ['rule', 'default', 'geoip', 'rule', 'x'] as const;

const COMMENTS = [
  '# note',
  '#',
  '# default = "x"',
  '# [subscribe.routes]',
  '# "quotes\' and {braces} 😀',
] as const;

const TARGETS = [
  'Tokyo 1',
  'direct',
  '',
  'a"b\\c',
  'line\nbreak\r\ttab',
  '\0\u001b\u007f\u0080',
  '😀 東京',
  "it's",
] as const;

const BREAKING = [
  '"',
  "'",
  '[',
  ']',
  '{',
  '}',
  '=',
  '.',
  ',',
  '#',
  '\n',
  '\r',
  '\0',
  'a',
  '1',
  '\\',
  ' ',
  '\t',
  '\x7f',
  '\xff',
  '\xc3',
  '"""',
  '[[',
  '\r\n',
  '',
] as const;

/** Documents of all forms, small ones first. */
export const pickCases: fc.Arbitrary<PickCase> = fc
  .uint8Array({ minLength: 8, maxLength: 400, size: 'max' })
  .map(pickCase);

/** Documents with a few bytes changed, taken away or put in: some are still TOML. */
export const brokenDocuments: fc.Arbitrary<Uint8Array> = fc
  .tuple(
    pickCases,
    fc.array(fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...BREAKING)), { maxLength: 3 }),
  )
  .map(([{ text }, changes]) => {
    const bytes = [...Buffer.from(text)];
    for (const [place, remove, insert] of changes) {
      bytes.splice(place % (bytes.length + 1), remove, ...Buffer.from(insert, 'latin1'));
    }
    return Uint8Array.from(bytes);
  });

function pickCase(bytes: Uint8Array): PickCase {
  const choices = new Choices(bytes);
  const subscribe = !choices.oneIn(3);
  const target = choices.from(TARGETS);
  const isPresent = choices.oneIn(2);
  const group = subscribe ? choices.from(choices.oneIn(5) ? NAMES : GROUPS) : 'default';
  const text = new Writer(choices).document();
  const present = subscribe && isPresent ? choices.from(['', ...presentGroups(text)]) : '';
  return { text, subscribe, group: present === '' ? group : present, target };
}

/** The picks that a document holds, so that some are replaced. */
function presentGroups(text: string): string[] {
  let node: Node | undefined = parseToml(text.replace(/^\u{feff}/u, ''));
  for (const name of ['subscribe', 'routes']) {
    node = node?.kind === 'table' ? node.entries.get(name)?.value : undefined;
  }
  return node?.kind === 'table' ? [...node.entries.keys()] : [];
}

/** A run of lines that stays together while whole runs are put into any order. */
type Chunk = string[];

type Kind = 'scalar' | 'array' | 'inline' | 'dotted' | 'header' | 'implied' | 'tables';

class Writer {
  readonly #choices: Choices;
  readonly #chunks: Chunk[] = [];

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  document(): string {
    const root: Chunk = [];
    this.#fill([], root, undefined, 0);
    const lines = [...root, ...this.#choices.shuffled(this.#chunks).flat(), ...this.#gap()];
    const mode = this.#choices.from(['lf', 'crlf', 'mixed']);
    const eol = (): string =>
      mode === 'lf' || (mode === 'mixed' && this.#choices.oneIn(2)) ? '\n' : '\r\n';
    let text = lines.map((line) => line.replaceAll('\n', eol) + eol()).join('');
    if (this.#choices.oneIn(3)) text = text.replace(/\r?\n$/, '');
    return (this.#choices.oneIn(6) ? '\u{feff}' : '') + text;
  }

  /**
   * Fills the table `path`: its own lines go to `body`; tables below it become chunks, or, inside an
   * array of tables, whose order matters, follow in `chunk`.
   */
  #fill(path: readonly string[], body: string[], chunk: Chunk | undefined, depth: number): void {
    const names = new Set<string>();
    const count = this.#choices.below(depth === 0 ? 6 : 4);
    const below: (() => void)[] = [];
    for (let i = 0; i < count; i += 1) {
      const name = this.#name(path);
      if (names.has(name)) continue;
      names.add(name);
      const kind = this.#kind(path, name, depth);
      if (kind === 'header' || kind === 'implied' || kind === 'tables') {
        below.push(() => this.#below(kind, [...path, name], chunk, depth));
      } else {
        body.push(...this.#pair(kind, path, [name], depth));
      }
    }
    for (const write of below) write();
  }

  #name(path: readonly string[]): string {
    if (path.length === 0) return this.#choices.from(ROOT_NAMES);
    if (path.length === 1 && path[0] === 'subscribe') return this.#choices.from(SUBSCRIBE_NAMES);
    if (path.length === 1 && path[0] === 'route') return this.#choices.from(ROUTE_NAMES);
    if (path.length === 2 && path[1] === 'routes') return this.#choices.from(GROUPS);
    return this.#choices.from(NAMES);
  }

  #kind(path: readonly string[], name: string, depth: number): Kind {
    const leaves = ['scalar', 'scalar', 'array', 'inline', 'dotted'] as const;
    if (depth >= 4) return 'scalar';
    if (['subscribe', 'route', 'routes'].includes(name) && !this.#choices.oneIn(6)) {
      return this.#choices.from(['header', 'inline', 'dotted', 'header', 'implied']);
    }
    if (path.length === 0) return this.#choices.from(['header', 'implied', 'tables', ...leaves]);
    return this.#choices.from(['scalar', 'header', ...leaves, 'implied', 'tables']);
  }

  #below(kind: Kind, path: readonly string[], outer: Chunk | undefined, depth: number): void {
    const header = (open: string, close: string): string =>
      this.#line(open + this.#space() + this.#key(path) + this.#space() + close);
    if (kind === 'tables') {
      const chunk = outer ?? this.#newChunk();
      for (let i = this.#choices.below(2); i >= 0; i -= 1) {
        const body: string[] = [];
        chunk.push(...this.#gap(), header('[[', ']]'));
        const later: Chunk = [];
        this.#fill(path, body, later, depth + 1);
        chunk.push(...body, ...later);
      }
      return;
    }
    if (kind === 'implied') {
      this.#below('header', [...path, this.#name(path)], outer, depth + 1);
      return;
    }
    const chunk = outer ?? this.#newChunk();
    const body: string[] = [];
    const later: Chunk = [];
    this.#fill(path, body, outer && later, depth + 1);
    chunk.push(...this.#gap(), header('[', ']'), ...body, ...later);
  }

  #newChunk(): Chunk {
    const chunk: Chunk = [];
    this.#chunks.push(chunk);
    return chunk;
  }

  /** One or, for dotted keys, several lines of `names = …`. */
  #pair(kind: Kind, table: readonly string[], names: readonly string[], depth: number): string[] {
    if (kind !== 'dotted')
      return [
        ...this.#gap(),
        this.#line(this.#assign(names, this.#value(kind, [...table, ...names], depth))),
      ];
    const lines: string[] = [];
    const seen = new Set<string>();
    for (let i = this.#choices.below(3); i >= 0; i -= 1) {
      const name = this.#name([...table, ...names]);
      if (seen.has(name)) continue;
      seen.add(name);
      const kind = this.#choices.from(['scalar', 'scalar', 'inline', 'array', 'dotted']);
      lines.push(...this.#pair(depth >= 3 ? 'scalar' : kind, table, [...names, name], depth + 1));
    }
    return lines;
  }

  #assign(names: readonly string[], value: string): string {
    return `${this.#key(names)}${this.#space()}=${this.#space()}${value}`;
  }

  #value(kind: Kind, path: readonly string[], depth: number): string {
    if (kind === 'array') return this.#array(path, depth);
    if (kind === 'inline') return this.#inline(path, depth);
    return this.#choices.from(SCALARS);
  }

  #array(path: readonly string[], depth: number): string {
    const items: string[] = [];
    for (let i = this.#choices.below(3); i > 0; i -= 1) {
      const kind = depth >= 4 ? 'scalar' : this.#choices.from(['scalar', 'inline', 'array']);
      items.push(this.#value(kind, [...path, ''], depth + 1));
    }
    return this.#bracket('[', items, ']');
  }

  #inline(path: readonly string[], depth: number): string {
    const items: string[] = [];
    const seen = new Set<string>();
    for (let i = this.#choices.below(4); i > 0; i -= 1) {
      const name = this.#name(path);
      if (seen.has(name)) continue;
      seen.add(name);
      const kind =
        depth >= 3 ? 'scalar' : this.#choices.from(['scalar', 'inline', 'array', 'dotted']);
      if (kind !== 'dotted') {
        items.push(this.#assign([name], this.#value(kind, [...path, name], depth + 1)));
        continue;
      }
      const below = [...path, name];
      for (const leaf of new Set([this.#name(below), this.#name(below)])) {
        items.push(this.#assign([name, leaf], this.#value('scalar', below, depth + 1)));
      }
    }
    return this.#bracket('{', items, '}');
  }

  /** Items on one line, or each on its own as TOML 1.1 allows, with comments and a final comma. */
  #bracket(open: string, items: readonly string[], close: string): string {
    if (!this.#choices.oneIn(3)) {
      const space = this.#space();
      const comma = items.length > 0 && this.#choices.oneIn(5) ? ',' : '';
      return (
        open + space + items.join(this.#choices.from([', ', ',', ' , '])) + comma + space + close
      );
    }
    let text = open + this.#tail();
    for (const [i, item] of items.entries()) {
      const isLast = i === items.length - 1;
      const comma = isLast && this.#choices.oneIn(2) ? '' : ',';
      // A comma may stand on the line after the value, and a comment between the two.
      const apart = comma !== '' && this.#choices.oneIn(6) ? `${this.#tail()}\n` : '';
      text += `\n  ${item}${apart}${comma}${this.#tail()}`;
    }
    return text + this.#choices.from(['\n', '\n\n', '\n  ']) + close;
  }

  #key(names: readonly string[]): string {
    return names
      .map((name) => this.#keyPart(name))
      .join(this.#choices.from(['.', '.', ' . ', '\t.']));
  }

  #keyPart(name: string): string {
    const isBare = /^[\w-]+$/.test(name);
    const form = this.#choices.below(5);
    if (isBare && form < 3) return name;
    if (form === 3 && !/['\p{Cc}]/u.test(name)) return `'${name}'`;
    const escaped = form === 4 && /^[a-z]/.test(name);
    const body = JSON.stringify(escaped ? name.slice(1) : name).slice(1, -1);
    const first = String.raw`\u00${name.charCodeAt(0).toString(16)}`;
    return `"${escaped ? first : ''}${body}"`;
  }

  #line(content: string): string {
    return this.#choices.from(['', '', '', '  ', '\t']) + content + this.#tail();
  }

  /** What may stand behind a value: nothing, white space, or a comment. */
  #tail(): string {
    return this.#choices.oneIn(5)
      ? this.#choices.from([' ', '\t', '']) + this.#choices.from(COMMENTS)
      : this.#choices.from(['', '', ' ']);
  }

  #space(): string {
    return this.#choices.from(['', ' ', ' ', '\t ']);
  }

  /** Empty lines and comments between what counts. */
  #gap(): string[] {
    return Array.from({ length: Math.max(0, this.#choices.below(6) - 3) }, () =>
      this.#choices.from(['', '  ', ...COMMENTS]),
    );
  }
}
