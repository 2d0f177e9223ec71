import type { DelaySubject, DelayTest } from '../delays/delay-tester.ts';
import { parseExpected } from '../delays/expected-status.ts';
import { bodyInvalid, type ClashAnswer, type ClashContext, clashError, ok } from './endpoint.ts';

/** Maximum timeouts: mihomo reads `timeout` into 16 bits for a proxy, and into 32 for a group. */
const LIMITS = { proxy: 2 ** 15 - 1, group: 2 ** 31 - 1 } as const;

/** Maximum milliseconds of a test, whatever the client requests. */
const LONGEST_MS = 60_000;

/** Maximum characters of a URL; those of browsers are shorter. */
const LONGEST_URL = 4096;

const INTEGER = /^[+-]?\d{1,12}$/;

/** Parses the query of a test. @throws {LocalHttpError} 400 if it is invalid */
export function delayTestOf(query: URLSearchParams, of: keyof typeof LIMITS): DelayTest {
  const timeout = query.get('timeout') ?? '';
  const timeoutMs = INTEGER.test(timeout) ? Number(timeout) : Number.NaN;
  const expected = parseExpected(query.get('expected') ?? '');
  const url = query.get('url') ?? '';
  const isInRange = timeoutMs >= -LIMITS[of] - 1 && timeoutMs <= LIMITS[of];
  if (!isInRange || !expected || url.length > LONGEST_URL) throw bodyInvalid();
  return { url, timeoutMs: Math.min(timeoutMs, LONGEST_MS), expected };
}

/** Checks that there is a control socket, which tests need. @throws {LocalHttpError} 503 without one */
export function needControlSocket({ weir }: ClashContext): void {
  if (weir.socket !== undefined) return;
  throw clashError(503, 'Weir has no control socket, which delay tests need');
}

/** The response to a test of one proxy. @throws {LocalHttpError} when the test has failed */
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
