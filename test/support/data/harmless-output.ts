import assert from 'node:assert/strict';
import { messageOf } from '@weir/base';
import { chooseFilter, createLogger, FilterSwitch } from '@weir/base/log';
import { textFormat } from '../../../packages/base/src/log/line-format.ts';

/** What text of others tries: a line of its own, and what moves the cursor or turns the text. */
export const FORGERY =
  '\n2026-01-01T00:00:00Z ERROR forged\r\n\u001b[2J\u001b]0;x\u0007\u009b31m\u202e';

/** Fails on a character that a terminal would obey, and on a line that the forgery has made. */
export function assertHarmless(text: string, what: string): void {
  // Colours are for terminals only, so there are none here.
  const found = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.exec(text);
  assert.equal(found, null, `${what}: ${JSON.stringify(text)}`);
  assert.doesNotMatch(text, /^(<\d>)?2026-01-01T00:00:00Z/m, what);
  assert.doesNotMatch(text, /^(<\d>)?ERROR forged/m, what);
}

/** What the log has of a flow that fails as `work` does: one line, by the logger of the program. */
export async function failureLine(work: Promise<unknown>): Promise<string> {
  const [result] = await Promise.allSettled([work]);
  if (result.status === 'fulfilled') return assert.fail('it did not fail');
  return loggedLine(result.reason);
}

function loggedLine(error: unknown): string {
  let written = '';
  const filter = new FilterSwitch(chooseFilter(undefined, 'info'));
  const sink = { write: (line: string) => void (written += line) };
  createLogger(filter, sink, textFormat, 'svc_app').info(`flow: ${messageOf(error)}`);
  assert.equal(written.indexOf('\n'), written.length - 1, JSON.stringify(written));
  assertHarmless(written, 'the line');
  return written;
}
