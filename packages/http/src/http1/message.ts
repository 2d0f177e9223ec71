import { hasControl, isToken, trimBlanks } from '../fields/field.ts';
import { ProtocolError } from '@weir/io';

/**
 * A header or trailer line. Text is latin1, one character per byte, so that it is forwarded unchanged (RFC 9110 §5.5
 * leaves the encoding of values open).
 */
export interface FieldLine {
  readonly name: string;
  /** The name in lower case, for comparison. */
  readonly key: string;
  readonly value: string;
}

/** The lines of a header or trailer section, in the order received (RFC 9110 §5.3). */
export type FieldLines = readonly FieldLine[];

/** Creates a line from a name, in any case, and its value; neither is checked. */
export const field = (name: string, value: string): FieldLine => ({
  name,
  key: name.toLowerCase(),
  value,
});

/**
 * Parses a line `name: value` without its line end (RFC 9112 §5.1).
 *
 * @throws {MessageError} 400 for a name that is not a token, as with whitespace before the colon, and for control
 * characters.
 */
export function parseField(line: string): FieldLine {
  const colon = line.indexOf(':');
  const name = line.slice(0, colon);
  if (colon < 0 || !isToken(name)) throw new MessageError(400, 'a header line has an invalid name');
  const value = trimBlanks(line.slice(colon + 1));
  if (hasControl(value)) throw new MessageError(400, `the ${name} header has a control character`);
  return field(name, value);
}

/** Returns the values of all lines with a name; `key` is in lower case. */
export function valuesOf(fields: FieldLines, key: string): string[] {
  const values: string[] = [];
  for (const entry of fields) if (entry.key === key) values.push(entry.value);
  return values;
}

/** Returns the combined value of all lines with a name (RFC 9110 §5.3); `undefined` if there is none. */
export function combinedOf(fields: FieldLines, key: string): string | undefined {
  let combined: string | undefined;
  for (const entry of fields) {
    if (entry.key === key)
      combined = combined === undefined ? entry.value : `${combined}, ${entry.value}`;
  }
  return combined;
}

/** Returns the members of the comma-separated list in all lines with a name, in lower case, without empty members. */
export function listOf(fields: FieldLines, key: string): string[] {
  const members: string[] = [];
  for (const entry of fields) {
    if (entry.key !== key) continue;
    for (const part of entry.value.split(',')) {
      const member = trimBlanks(part).toLowerCase();
      if (member !== '') members.push(member);
    }
  }
  return members;
}

/**
 * A message that is invalid or exceeds a limit of this proxy. `status` is that of the response to the client that sent
 * the message; if an origin sent it, the client gets 502.
 */
export class MessageError extends ProtocolError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
