import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '../../../src/config/errors.ts';
import { parseConfig } from '../../../src/config/parse-config.ts';
import type { InboundSpec, OutboundSpec, RuleSpec, Spec } from '../../../src/spec.ts';

export const specOf = (text: string): Spec => parseConfig(Buffer.from(text));

/** The error of a configuration that must be refused. */
export function errorOf(text: string | Uint8Array, file?: string): ConfigError {
  try {
    parseConfig(Buffer.from(text), { file });
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error;
  }
  return assert.fail('it was accepted');
}

export const DIRECT = '[[outbound]]\ntag = "direct"\nprotocol = "freedom"\n';

/** A configuration with one inbound, of which `lines` are all keys but the tag `in`. */
export const inbound = (lines: string): string => `${DIRECT}[[inbound]]\ntag = "in"\n${lines}\n`;

/** A configuration with one outbound, of which `lines` are all keys but the tag `out`. */
export const outbound = (lines: string): string => `[[outbound]]\ntag = "out"\n${lines}\n`;

/** A configuration with one rule to `direct`. */
export const rule = (lines: string): string =>
  `${DIRECT}[[route.rule]]\noutbound = "direct"\n${lines}\n`;

const only = <T>(items: readonly T[]): T => {
  const [item, ...more] = items;
  assert.ok(item !== undefined && more.length === 0, `${items.length} instead of one`);
  return item;
};

export const inboundOf = (lines: string): InboundSpec => only(specOf(inbound(lines)).inbounds);
export const outboundOf = (lines: string): OutboundSpec => only(specOf(outbound(lines)).outbounds);
export const ruleOf = (lines: string): RuleSpec => only(specOf(rule(lines)).route.rules);

/** What is refused, the whole document, the exact message, and where it points. */
export type Row = readonly [what: string, text: string, message: string, place?: string];

/** One test for each row; the place is `line:column (subject)`. */
export function refuses(rows: readonly Row[]): void {
  for (const [what, text, message, place] of rows) {
    test(what, () => {
      const error = errorOf(text);
      assert.equal(error.message, message);
      assert.equal(error.kind, 'invalid');
      const { location, subject } = error;
      assert.equal(location && `${location.line}:${location.column} (${subject})`, place);
    });
  }
}

/** The same for errors that TOML tells: of the message only the last line, of the place no subject. */
export function refusesShape(rows: readonly Row[]): void {
  for (const [what, text, message, place] of rows) {
    test(what, () => {
      const { location, subject, message: told } = errorOf(text);
      assert.ok(location);
      assert.equal(`${location.line}:${location.column}`, place);
      const lines = told.split('\n');
      assert.equal(
        lines[0],
        `TOML parse error at line ${location.line}, column ${location.column}`,
      );
      assert.equal(lines.at(-1), message);
      assert.equal(subject, undefined);
    });
  }
}
