import type { DelaySubject, DelayTest } from '../delays/delay-tester.ts';
import { parseExpected } from '../delays/expected-status.ts';
import { ok, type ClashAnswer, type ClashContext } from './endpoint.ts';
import { bodyInvalid, clashError } from './errors.ts';

/** mihomo reads `timeout` into 16 bits for one proxy, and into 32 for a group. */
const LIMITS = { proxy: 2 ** 15 - 1, group: 2 ** 31 - 1 } as const;

/** A test takes no longer, whatever the client allows. */
const LONGEST_MS = 60_000;

/** Characters of a URL; a browser's are shorter. */
const LONGEST_URL = 4096;

const INTEGER = /^[+-]?\d{1,12}$/;

/** @throws {LocalHttpError} 400 for an invalid query */
export function delayTestOf(query: URLSearchParams, of: keyof typeof LIMITS): DelayTest {
  const timeout = query.get('timeout') ?? '';
  const timeoutMs = INTEGER.test(timeout) ? Number(timeout) : Number.NaN;
  const expected = parseExpected(query.get('expected') ?? '');
  const url = query.get('url') ?? '';
  const isInRange = timeoutMs >= -LIMITS[of] - 1 && timeoutMs <= LIMITS[of];
  if (!isInRange || !expected || url.length > LONGEST_URL) throw bodyInvalid();
  return { url, timeoutMs: Math.min(timeoutMs, LONGEST_MS), expected };
}

/** @throws {LocalHttpError} 503 without one: tests go through it */
export function needControlSocket({ weir }: ClashContext): void {
  if (weir.socket !== undefined) return;
  throw clashError(503, 'Weir has no control socket, which delay tests need');
}

/** The answer to a test of one proxy. @throws {LocalHttpError} when it has failed */
export async function answerDelay(
  context: ClashContext,
  subject: DelaySubject,
  test: DelayTest,
): Promise<ClashAnswer> {
  needControlSocket(context);
  const outcome = (await context.tester.test([subject], test)).get(subject.name);
  switch (outcome?.kind) {
    case 'measured':
      return ok({ delay: outcome.delay });
    case 'timeout':
      throw clashError(504, 'Timeout');
    case 'failed':
    case undefined:
      throw clashError(503, 'An error occurred in the delay test');
    default:
      return outcome satisfies never;
  }
}
