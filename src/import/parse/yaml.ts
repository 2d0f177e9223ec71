import { Composer, isAlias, isCollection, isPair, isScalar, LineCounter, Parser } from 'yaml';
import type { Document } from 'yaml';
import { messageOf } from '../../errors.ts';
import { ImportError } from '../draft.ts';

/** Levels of lists and mappings within each other; documents have about ten. */
const DEEPEST = 64;

/** The most marks that begin a line or a value; the library takes up to 20 µs for each. */
const MOST_MARKS = 1_000_000;

/**
 * The value of YAML, with every scalar as text, so that a password of digits keeps its zeros.
 * @throws {ImportError}
 */
export function parseYaml(text: string): unknown {
  refuseLarge(text);
  const lines = new LineCounter();
  const document = firstDocument(text, lines);
  const [error] = document.errors;
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new ImportError(`invalid YAML at line ${line}, column ${col}`);
  }
  refuseOddNodes(document.contents);
  try {
    // The number of aliases is limited, or a short document could expand to a large one.
    return document.toJS({ maxAliasCount: 100 }) as unknown;
  } catch (error) {
    // The library has no classes of its own for these.
    if (error instanceof ReferenceError) {
      const isUnresolved = error.message.startsWith('Unresolved alias');
      throw new ImportError(
        isUnresolved ? 'YAML with an alias of no anchor' : 'YAML with too many aliases',
      );
    }
    if (messageOf(error).startsWith('Merge ')) {
      throw new ImportError('YAML that merges what is no mapping');
    }
    throw error;
  }
}

/**
 * The first document of a stream. Duplicate keys are not detected, which would take quadratic time:
 * the last one counts. Nor are errors described, which reads the text again for each of them.
 */
function firstDocument(text: string, lines: LineCounter): Document {
  const composer = new Composer({
    logLevel: 'silent',
    schema: 'failsafe',
    uniqueKeys: false,
    merge: true,
    prettyErrors: false,
  });
  const tokens = new Parser(lines.addNewLine).parse(text);
  for (const document of composer.compose(tokens, true, text.length)) return document;
  throw new ImportError('empty YAML');
}

/** Characters that begin a line or a value, or could. */
const MARKS: ReadonlySet<number> = new Set(Array.from('\n,[]{}:?', (char) => char.charCodeAt(0)));

/** Refuses a text with more values than the library handles in a few seconds. */
function refuseLarge(text: string): void {
  let marks = 0;
  for (let at = 0; at < text.length; at++) if (MARKS.has(text.charCodeAt(at))) marks++;
  if (marks > MOST_MARKS) throw new ImportError(`YAML with more than ${MOST_MARKS} values`);
}

/**
 * Refuses what no configuration has and the library would take exponential time for: deep nesting,
 * and keys that are not text.
 */
function refuseOddNodes(contents: unknown): void {
  const waiting: { readonly node: unknown; readonly depth: number }[] = [
    { node: contents, depth: 0 },
  ];
  for (let at = waiting.pop(); at; at = waiting.pop()) {
    const { node, depth } = at;
    if (!isCollection(node)) continue;
    if (depth >= DEEPEST) throw new ImportError(`YAML nested more than ${DEEPEST} levels deep`);
    for (const item of node.items) {
      if (isPair(item)) {
        if (item.key !== null && !isScalar(item.key)) {
          throw new ImportError(
            `YAML with a key that is ${isAlias(item.key) ? 'an alias' : 'a list or a mapping'}`,
          );
        }
        waiting.push({ node: item.value, depth: depth + 1 });
      } else waiting.push({ node: item, depth: depth + 1 });
    }
  }
}
