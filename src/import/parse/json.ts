import { ImportError } from '../../protocols/forms/draft.ts';
import { endOfPart, withoutComments } from './json-comments.ts';

/** Maximum nesting of lists and objects; documents have about ten levels. */
const DEEPEST = 64;

/** Maximum number of values of a document, which bounds their memory. */
const MOST_VALUES = 3_000_000;

/**
 * Parses JSON with comments and trailing commas, which sing-box and Xray accept.
 * @throws {ImportError}
 */
export function parseJson(text: string): unknown {
  const plain = withoutComments(text);
  refuseLarge(plain);
  try {
    return JSON.parse(plain);
  } catch {
    throw new ImportError('invalid JSON');
  }
}

/** Rejects too deeply nested brackets, or too many values, before they are parsed. */
function refuseLarge(text: string): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at = text[at] === '"' ? endOfPart(text, at) : at + 1) {
    const char = text[at];
    if (char === '[' || char === '{') depth++;
    else if (char === ']' || char === '}') depth--;
    else if (char !== ',') continue;
    if (depth > DEEPEST) throw new ImportError(`JSON nested more than ${DEEPEST} levels deep`);
    if (++values > MOST_VALUES) throw new ImportError(`JSON with more than ${MOST_VALUES} values`);
  }
}
