import type { FlowSelector } from '../../tracker/tracker.ts';
import { parseU64, percentDecode } from './path-parameter.ts';
import { BadRequest } from '../http/rejections.ts';

const FIELDS = ['outbound', 'inbound', 'session', 'user'] as const;
type Field = (typeof FIELDS)[number];

const isField = (name: string): name is Field => (FIELDS as readonly string[]).includes(name);
const EXPECTED = `expected one of ${FIELDS.map((field) => `\`${field}\``).join(', ')}`;

const reject = (reason: string): BadRequest =>
  new BadRequest(`Failed to deserialize query string: ${reason}`);

/**
 * Parses the query string that selects flows to close. A field without a value selects the empty
 * text; no field at all selects every flow.
 *
 * @throws {BadRequest} for the first field that is unknown, repeated or not a valid number.
 */
export function parseSelector(query: string): FlowSelector {
  const texts = new Map<Field, string>();
  let session: number | undefined;
  for (const [name, value] of formPairs(query)) {
    if (!isField(name)) throw reject(`unknown field \`${name}\`, ${EXPECTED}`);
    if (texts.has(name)) throw reject(`duplicate field \`${name}\``);
    texts.set(name, value);
    if (name !== 'session') continue;
    const parsed = parseU64(value);
    if ('error' in parsed) throw reject(`session: ${parsed.error}`);
    // Ids count up from 1 and stay below 2^53, so rounding a larger number matches none.
    session = Number(parsed.value);
  }
  return {
    outbound: texts.get('outbound'),
    inbound: texts.get('inbound'),
    session,
    user: texts.get('user'),
  };
}

/** Name and value pairs of `application/x-www-form-urlencoded`; invalid UTF-8 is replaced. */
function formPairs(query: string): [name: string, value: string][] {
  const decode = (text: string): string => percentDecode(text.replaceAll('+', ' ')).toString();
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = ''] = pair.split('=', 1);
      return [decode(name), decode(pair.slice(name.length + 1))];
    });
}
