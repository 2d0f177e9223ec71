import {
  Composer,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  Lexer,
  type Pair,
  Parser,
  Scalar,
  type ScalarTag,
  type SchemaOptions,
  type CST,
} from 'yaml';
import { ImportError } from '@weir/proxy/protocols/forms';

/** Maximum nesting of lists and mappings; documents have about ten levels. */
const DEEPEST = 64;

/** Maximum number of marks that begin a line or a value; the library takes up to 20 µs for each. */
const MOST_MARKS = 1_000_000;

/** Maximum number of values of a document, counting each alias as all values of its anchor. */
const MOST_VALUES = 1_000_000;

/** Number of lexemes after which the lists in progress are checked. */
const CHECKED_EACH = 1024;

/** Checks the number of items of a list at a key of the document, while it is parsed. @throws {ImportError} */
type ListCheck = (key: string, length: number) => void;

/**
 * Parses YAML. A scalar is text, so that a password of digits keeps its zeros; a plain YAML null (nothing, `~`, `null`)
 * is null.
 * @throws {ImportError}
 */
export function parseYaml(text: string, check: ListCheck = () => undefined): unknown {
  refuseLarge(text);
  const document = firstDocument(text, check);
  const [error] = document.errors;
  if (error) {
    const before = text.slice(0, error.pos[0]);
    const line = before.split('\n').length;
    const column = before.length - before.lastIndexOf('\n');
    throw new ImportError(`invalid YAML at line ${line}, column ${column}`);
  }
  return new Values().of(document.contents, 0).value;
}

/** Unquoted scalars that YAML 1.1 and 1.2 read as null. */
const NULL: ScalarTag = {
  identify: (value) => value === null,
  default: true,
  tag: 'tag:yaml.org,2002:null',
  test: /^(?:~|null|Null|NULL)?$/,
  resolve: () => new Scalar(null),
};

const OPTIONS = {
  schema: 'failsafe',
  customTags: (tags) => [...tags, NULL],
  merge: true,
} as const satisfies SchemaOptions;

/**
 * The first document of a stream. Duplicate keys are not detected, which would take quadratic time: the last one
 * counts. Errors are not described, since each description reads the text again.
 */
function firstDocument(text: string, check: ListCheck): Document {
  const composer = new Composer({
    logLevel: 'silent',
    ...OPTIONS,
    uniqueKeys: false,
    prettyErrors: false,
  });
  const tokens = tokensOf(text, check);
  for (const document of composer.compose(tokens, true, text.length)) return document;
  throw new ImportError('empty YAML');
}

/** The tokens of a text, up to a list that is too long or nesting that is too deep. */
function* tokensOf(text: string, check: ListCheck): Generator<CST.Token, undefined> {
  const parser = new Parser();
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (lexemes++ % CHECKED_EACH === 0) refuseOpen(parser.stack, check);
  }
  yield* parser.end();
}

/** Number of open tokens other than lists and mappings: a document and a scalar. */
const OTHER_OPEN = 2;

/** Checks what the parser has open: the document, its mapping, a list in that. @throws {ImportError} */
function refuseOpen(open: readonly CST.Token[], check: ListCheck): void {
  if (open.length > DEEPEST + OTHER_OPEN) throw tooDeep();
  const [, mapping, list] = open;
  if (!mapping || !('items' in mapping) || !list || !('items' in list)) return;
  const key = mapping.items.at(-1)?.key;
  // The last item may be one that has only begun.
  if (key && 'source' in key) check(key.source, list.items.length - 1);
}

/** Characters that begin, or could begin, a line or a value. */
const MARKS: ReadonlySet<number> = new Set(Array.from('\n,[]{}:?', (char) => char.charCodeAt(0)));

/** Rejects a text with more values than the library handles in a few seconds. */
function refuseLarge(text: string): void {
  let marks = 0;
  for (let at = 0; at < text.length; at++) if (MARKS.has(text.charCodeAt(at))) marks++;
  if (marks > MOST_MARKS) throw new ImportError(`YAML with more than ${MOST_MARKS} values`);
}

/** A built value, with the cost of traversing it. */
interface Built {
  readonly value: unknown;
  /** Number of its values, including those that aliases stand for. */
  readonly size: number;
  /** Depth of its nested lists and mappings. */
  readonly height: number;
}

/**
 * Builds values from nodes in document order. An alias shares the value of its anchor, which takes no memory; the cost
 * of traversing the result is bounded. Programs that share objects write any number of aliases.
 */
class Values {
  readonly #anchors = new Map<string, Built>();

  of(node: unknown, depth: number): Built {
    if (isAlias(node)) {
      // An anchor that is still open contains this alias.
      const built = this.#anchors.get(node.source);
      if (!built) throw new ImportError('YAML with an alias of no anchor');
      if (depth + built.height > DEEPEST) throw tooDeep();
      return built;
    }
    const built = isCollection(node)
      ? this.#collection(node, depth)
      : { value: isScalar(node) ? node.value : null, size: 1, height: 0 };
    if (isCollection(node) || isScalar(node)) {
      if (node.anchor !== undefined) this.#anchors.set(node.anchor, built);
    }
    return built;
  }

  #collection(node: { readonly items: readonly unknown[] }, depth: number): Built {
    if (depth >= DEEPEST) throw tooDeep();
    let size = 1;
    let height = 0;
    const child = (each: unknown): Built => {
      const built = this.of(each, depth + 1);
      size += built.size;
      height = Math.max(height, built.height);
      if (size > MOST_VALUES) throw new ImportError('YAML with too many aliases');
      return built;
    };
    const value = isMap(node)
      ? this.#mapping(node.items, child)
      : node.items.map((each) => child(each).value);
    return { value, size, height: height + 1 };
  }

  #mapping(
    items: readonly unknown[],
    child: (node: unknown) => Built,
  ): Readonly<Record<string, unknown>> {
    const own = new Map<string, unknown>();
    const merged = new Map<string, unknown>();
    for (const pair of items) {
      if (!isPair(pair)) continue;
      if (isMerge(pair)) {
        for (const [key, value] of merges(child(pair.value).value)) {
          if (!merged.has(key)) merged.set(key, value);
        }
      } else own.set(this.#key(pair.key), child(pair.value).value);
    }
    return Object.fromEntries([...merged, ...own]);
  }

  /** A key is text as written, including `null`. */
  #key(key: unknown): string {
    if (key === null) return '';
    if (!isScalar(key)) {
      throw new ImportError(
        `YAML with a key that is ${isAlias(key) ? 'an alias' : 'a list or a mapping'}`,
      );
    }
    this.of(key, 0);
    return typeof key.value === 'string' ? key.value : (key.source ?? '');
  }
}

const tooDeep = (): ImportError => new ImportError(`YAML nested more than ${DEEPEST} levels deep`);

/** Whether a pair is a merge: the library reads an unquoted `<<` as a symbol. */
const isMerge = ({ key }: Pair): boolean => isScalar(key) && typeof key.value === 'symbol';

/** The members that a mapping merges: those of a mapping, or of several, of which the first takes precedence. */
function merges(value: unknown): readonly (readonly [string, unknown])[] {
  if (value === null) return [];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.flatMap((each) => {
    if (typeof each === 'object' && each !== null && !Array.isArray(each)) {
      return Object.entries(each);
    }
    throw new ImportError('YAML that merges what is not a mapping');
  });
}
