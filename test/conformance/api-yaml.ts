/** What YAML here amounts to. */
export type Yaml = string | number | boolean | null | Yaml[] | { [key: string]: Yaml };

interface Line {
  readonly number: number;
  readonly indent: number;
  readonly text: string;
}

const KEY = /^(?:'(?<quoted>[^']*)'|(?<plain>[^'":#[\]{},&*!|>%@` -][^:#]*?)):(?: +(?<value>.*))?$/;

/**
 * Reads the plain part of YAML that docs/openapi.yaml is written in: nested maps and lists in block
 * style, one line for each text, lists of words in brackets, and the empty map. Anything else is an error, so that a
 * file which it reads means the same to every other reader.
 */
export function parseYaml(source: string): Yaml {
  const lines = source
    .split('\n')
    .map((text, index) => ({ number: index + 1, indent: text.search(/\S/), text: text.trim() }))
    .filter(({ text }) => text !== '' && !text.startsWith('#'));
  const reader = new Reader(lines);
  const value = reader.block(0);
  reader.expectEnd();
  return value;
}

class Reader {
  readonly #lines: Line[];
  #at = 0;

  constructor(lines: Line[]) {
    this.#lines = lines;
  }

  expectEnd(): void {
    const line = this.#lines[this.#at];
    if (line) throw new SyntaxError(`line ${line.number}: wrong indentation`);
  }

  /** The map or the list whose lines stand at `indent`. */
  block(indent: number): Yaml {
    const first = this.#lines[this.#at];
    if (first?.indent !== indent) throw new SyntaxError(`line ${first?.number}: nothing is nested`);
    return first.text.startsWith('- ') ? this.#list(indent) : this.#map(indent);
  }

  #list(indent: number): Yaml[] {
    const items: Yaml[] = [];
    for (;;) {
      const line = this.#lines[this.#at];
      if (line?.indent !== indent || !line.text.startsWith('- ')) return items;
      const text = line.text.slice(2);
      if (KEY.test(text)) {
        // The first key of a map stands behind the dash, the others below it.
        this.#lines[this.#at] = { ...line, indent: indent + 2, text };
        items.push(this.block(indent + 2));
      } else {
        this.#at++;
        items.push(scalar(text, line));
      }
    }
  }

  #map(indent: number): Record<string, Yaml> {
    const entries = new Map<string, Yaml>();
    for (;;) {
      const line = this.#lines[this.#at];
      if (line?.indent !== indent) return Object.fromEntries(entries);
      const { quoted, plain, value } = KEY.exec(line.text)?.groups ?? {};
      const key = quoted ?? plain;
      if (key === undefined) throw new SyntaxError(`line ${line.number}: no key`);
      if (entries.has(key)) throw new SyntaxError(`line ${line.number}: ${key} is repeated`);
      this.#at++;
      entries.set(key, value === undefined ? this.block(indent + 2) : scalar(value, line));
    }
  }
}

function scalar(text: string, line: Line): Yaml {
  if (text.startsWith('[') && text.endsWith(']')) {
    const inner = text.slice(1, -1).trim();
    return inner === '' ? [] : inner.split(/, */).map((item) => scalar(item, line));
  }
  if (text === '{}') return {};
  const quoted = /^'((?:[^']|'')*)'$/.exec(text)?.[1];
  if (quoted !== undefined) return quoted.replaceAll("''", "'");
  if (/^\d+$/.test(text)) return Number(text);
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null') return null;
  if (
    /^[^\w/*]|: | #|:$|^(?:yes|no|on|off|~|null|\d[\d_.:]*)$/i.test(text) &&
    !/^\d+\.\d+\.\d+$/.test(text)
  ) {
    throw new SyntaxError(`line ${line.number}: quote ${text}`);
  }
  return text;
}
