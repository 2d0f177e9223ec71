import { ApiClientError } from '@weir/client/api';
import { type DelaySubject, type DelayTest, parseExpected } from '../delays.ts';
import {
  memberOfRoute,
  targetOfRoute,
  clashProxies,
  clashProxy,
  isGroup,
} from '../translate/proxies.ts';
import type { ClashFacts, Named } from '../translate/facts.ts';
import {
  bodyInvalid,
  clashError,
  NO_CONTENT,
  notFound,
  ok,
  type ClashAnswer,
  type ClashContext,
  type ClashEndpoint,
  type ClashRequest,
} from './endpoint.ts';

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

/** A proxy named in a request. */
interface FoundProxy {
  readonly facts: ClashFacts;
  readonly name: string;
  readonly named: Named;
}

/** The proxy that the path names. @throws {LocalHttpError} 404 */
async function findProxy(
  { facts: reader }: ClashContext,
  { parameters }: ClashRequest,
): Promise<FoundProxy> {
  const facts = await reader.read();
  const { name = '' } = parameters;
  const named = facts.names.find(name);
  if (!named) throw notFound();
  return { facts, name, named };
}

/** The target that a test of a proxy dials. */
export function subjectOf(facts: ClashFacts, name: string): DelaySubject {
  const named = facts.names.find(name);
  switch (named?.kind) {
    case undefined:
      return { name, tag: undefined };
    case 'global':
    case 'default':
      return { name, tag: targetOfRoute(facts, 'default') };
    case 'group':
      return { name, tag: targetOfRoute(facts, { group: named.name }) };
    case 'target':
      return { name, tag: named.name };
    default:
      return named satisfies never;
  }
}

async function getProxies({ facts, delays }: ClashContext): Promise<ClashAnswer> {
  return ok({ proxies: clashProxies(await facts.read(), delays) });
}

async function getProxy(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  const { facts, name, named } = await findProxy(context, request);
  return ok(clashProxy(facts, context.delays, name, named));
}

async function getDelay(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  const { facts, name } = await findProxy(context, request);
  const test = delayTestOf(request.query, 'proxy');
  return answerDelay(context, subjectOf(facts, name), test);
}

/** Picks a member, which is written to the configuration file. */
async function putProxy(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  const { facts, named } = await findProxy(context, request);
  const wanted = nameOf(await request.readJson());
  if (named.kind === 'target') throw clashError(400, 'Must be a Selector');
  const isGroupPick = named.kind === 'group';
  // An inherited target is a member, and cannot be picked: it is what the group has without a pick.
  if (wanted === memberOfRoute(facts, isGroupPick ? { group: named.name } : 'default')) {
    return NO_CONTENT;
  }
  const target = facts.names.find(wanted);
  if (target?.kind !== 'target') throw refusedPick('proxy not exist');
  const group = isGroupPick ? named.name : 'default';
  try {
    const body = { target: target.name };
    await context.weir.api.ask('PUT', `/v1/routes/${encodeURIComponent(group)}`, { body });
  } catch (error) {
    if (error instanceof ApiClientError && error.status !== undefined) {
      throw refusedPick(error.message);
    }
    throw error;
  } finally {
    context.facts.forget();
  }
  return NO_CONTENT;
}

const refusedPick = (reason: string) => clashError(400, `Selector update error: ${reason}`);

function nameOf(body: unknown): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw bodyInvalid();
  const { name = '' } = body as { readonly name?: unknown };
  if (typeof name !== 'string') throw bodyInvalid();
  return name;
}

/** Releases a group that a client has fixed to one member. Weir's balancers are never fixed, and picks remain. */
async function deleteProxy(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  const { facts, named } = await findProxy(context, request);
  const balancer = named.kind === 'target' ? facts.balancers.get(named.name) : undefined;
  if (balancer?.strategy === 'failover') return NO_CONTENT;
  throw bodyInvalid();
}

async function getGroups({ facts: reader, delays }: ClashContext): Promise<ClashAnswer> {
  const facts = await reader.read();
  const groups = Array.from(facts.names.names()).filter(([, named]) => isGroup(facts, named));
  return ok({ proxies: groups.map(([name, named]) => clashProxy(facts, delays, name, named)) });
}

async function findGroup(context: ClashContext, request: ClashRequest): Promise<FoundProxy> {
  const found = await findProxy(context, request);
  if (!isGroup(found.facts, found.named)) throw notFound();
  return found;
}

async function getGroup(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  const { facts, name, named } = await findGroup(context, request);
  return ok(clashProxy(facts, context.delays, name, named));
}

async function getGroupDelay(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  const { facts, name, named } = await findGroup(context, request);
  const test = delayTestOf(request.query, 'group');
  const { all = [] } = clashProxy(facts, context.delays, name, named);
  needControlSocket(context);
  const subjects = all.map((member) => subjectOf(facts, member));
  const outcomes = await context.tester.test(subjects, test);
  const measured = Array.from(outcomes).flatMap(([member, outcome]) =>
    outcome.kind === 'measured' ? [[member, outcome.delay] as const] : [],
  );
  if (measured.length === 0) throw clashError(504, 'get delay: all proxies timeout');
  return ok(Object.fromEntries(measured));
}

export const PROXY_ENDPOINTS: readonly ClashEndpoint[] = [
  { method: 'GET', path: '/proxies', answer: getProxies },
  { method: 'GET', path: '/proxies/{name?}', answer: getProxy },
  { method: 'PUT', path: '/proxies/{name?}', answer: putProxy },
  { method: 'DELETE', path: '/proxies/{name?}', answer: deleteProxy },
  { method: 'GET', path: '/proxies/{name?}/delay', answer: getDelay },
  { method: 'GET', path: '/group', answer: getGroups },
  { method: 'GET', path: '/group/{name?}', answer: getGroup },
  { method: 'GET', path: '/group/{name?}/delay', answer: getGroupDelay },
];
