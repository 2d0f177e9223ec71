import { isUtf8 } from 'node:buffer';
import { JsonScanner, JsonSyntaxError } from './json-scanner.ts';
import { BadRequest } from '../http/rejections.ts';

const KEY = 'target';

/**
 * Parses `{"target": "…"}`: one object with this one key.
 * @throws {BadRequest} for invalid JSON, or JSON of another shape, whichever comes first
 */
export function parsePickBody(bytes: Buffer): string {
  try {
    if (!isUtf8(bytes)) throw new JsonSyntaxError('invalid unicode code point');
    return readPick(new JsonScanner(bytes.toString()));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new BadRequest(`Failed to parse the request body as JSON: ${error.message}`);
  }
}

function readPick(json: JsonScanner): string {
  if (!json.takes('{')) throw wrongType(json, '', 'struct Pick');
  let target: string | undefined;
  if (!json.takes('}')) {
    do target = readEntry(json, target);
    while (json.takes(','));
    if (!json.takes('}')) throw json.unexpected('expected `,` or `}`', 'an object');
  }
  if (target === undefined) throw wrongShape(json, `missing field \`${KEY}\``);
  if (json.peek() !== '') throw json.syntax('trailing characters');
  return target;
}

function readEntry(json: JsonScanner, before: string | undefined): string {
  if (json.peek() !== '"') {
    // Here `}` follows a comma: an empty object has been handled already.
    const isEnd = json.peek() === '}';
    throw json.unexpected(isEnd ? 'trailing comma' : 'key must be a string', 'an object');
  }
  const key = json.string();
  if (key !== KEY) throw wrongShape(json, `${key}: unknown field \`${key}\`, expected \`${KEY}\``);
  if (before !== undefined) throw wrongShape(json, `${KEY}: duplicate field \`${KEY}\``);
  if (!json.takes(':')) throw json.unexpected('expected `:`', 'an object');
  if (json.peek() !== '"') throw wrongType(json, `${KEY}: `, 'a string');
  return json.string();
}

function wrongType(json: JsonScanner, path: string, wanted: string): BadRequest {
  const found = json.describe();
  return wrongShape(json, `${path}invalid type: ${found}, expected ${wanted}`);
}

const wrongShape = (json: JsonScanner, reason: string): BadRequest =>
  new BadRequest(
    `Failed to deserialize the JSON body into the target type: ${reason} at ${json.position()}`,
  );
