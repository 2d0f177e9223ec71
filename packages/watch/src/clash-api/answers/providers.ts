import { WeirError } from '@weir/base';
import type { ClashProvider } from '../contract.ts';
import type { DelayHistory } from '../delays.ts';
import { type ClashFacts, type ClashSubscription, providerName } from '../translate/facts.ts';
import { clashProxy, isGroup, TEST_URL } from '../translate/proxies.ts';
import { answerDelay, delayTestOf, needControlSocket, subjectOf } from './proxies.ts';
import {
  type ClashAnswer,
  type ClashContext,
  type ClashEndpoint,
  clashError,
  type ClashRequest,
  NO_CONTENT,
  notFound,
  ok,
} from './endpoint.ts';

/** Time limit of a health check in milliseconds, as in mihomo. */
const HEALTH_CHECK_MS = 5_000;

interface FoundProvider {
  readonly facts: ClashFacts;
  readonly provider: ClashProvider;
}

/** The provider that the path names. @throws {LocalHttpError} 404 */
async function findProvider(
  { facts: reader, delays }: ClashContext,
  { parameters }: ClashRequest,
): Promise<FoundProvider> {
  const facts = await reader.read();
  const provider = clashProviders(facts, delays).get(parameters['provider'] ?? '');
  if (!provider) throw notFound();
  return { facts, provider };
}

/** The proxy of a provider that the path names. @throws {LocalHttpError} 404 */
async function findMember(context: ClashContext, request: ClashRequest) {
  const { facts, provider } = await findProvider(context, request);
  const proxy = provider.proxies.find(({ name }) => name === request.parameters['name']);
  if (!proxy) throw notFound();
  return { facts, proxy };
}

async function getProviders({ facts, delays }: ClashContext): Promise<ClashAnswer> {
  return ok({ providers: Object.fromEntries(clashProviders(await facts.read(), delays)) });
}

async function getProvider(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  return ok((await findProvider(context, request)).provider);
}

async function putProvider(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  const { facts, provider } = await findProvider(context, request);
  const found = facts.subscriptions.find(({ name }) => providerName(name) === provider.name);
  // Proxies of the configuration itself are updated only with its file.
  if (provider.name === OWN_PROVIDER || !found) return NO_CONTENT;
  try {
    await context.updateSubscription(found.name);
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    throw clashError(503, error.message);
  } finally {
    context.facts.forget();
  }
  return NO_CONTENT;
}

async function checkProvider(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  const { facts, provider } = await findProvider(context, request);
  needControlSocket(context);
  const subjects = provider.proxies.map(({ name }) => subjectOf(facts, name));
  const test = { url: TEST_URL, timeoutMs: HEALTH_CHECK_MS, expected: [] };
  await context.tester.test(subjects, test);
  return NO_CONTENT;
}

async function getMember(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  return ok((await findMember(context, request)).proxy);
}

async function getMemberDelay(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  const { facts, proxy } = await findMember(context, request);
  const test = delayTestOf(request.query, 'proxy');
  return answerDelay(context, subjectOf(facts, proxy.name), test);
}

const PROVIDER = '/providers/proxies/{provider?}';

export const PROVIDER_ENDPOINTS: readonly ClashEndpoint[] = [
  { method: 'GET', path: '/providers/proxies', answer: getProviders },
  { method: 'GET', path: PROVIDER, answer: getProvider },
  { method: 'PUT', path: PROVIDER, answer: putProvider },
  { method: 'GET', path: `${PROVIDER}/healthcheck`, answer: checkProvider },
  { method: 'GET', path: `${PROVIDER}/{name?}`, answer: getMember },
  { method: 'GET', path: `${PROVIDER}/{name?}/healthcheck`, answer: getMemberDelay },
  { method: 'GET', path: '/providers/rules', answer: () => ok({ providers: {} }) },
  {
    method: 'PUT',
    path: '/providers/rules/{name?}',
    answer: () => {
      throw notFound();
    },
  },
];

/** mihomo's provider for the proxies of the configuration itself. */
export const OWN_PROVIDER = 'default';

/** Providers by name: the subscriptions, and `default` for the proxies of the configuration itself. */
export function clashProviders(
  facts: ClashFacts,
  delays: DelayHistory,
): ReadonlyMap<string, ClashProvider> {
  const providers = new Map<string, ClashProvider>();
  const own = facts.routes.targets.filter(({ name }) => !facts.providers.has(name));
  providers.set(OWN_PROVIDER, {
    ...providerOf(
      facts,
      delays,
      OWN_PROVIDER,
      own.map(({ name }) => name),
    ),
    vehicleType: 'Compatible',
  });
  for (const subscription of facts.subscriptions) {
    const name = providerName(subscription.name);
    if (providers.has(name)) continue;
    providers.set(name, {
      ...providerOf(facts, delays, name, subscription.nodes),
      ...freshness(subscription),
      vehicleType: 'HTTP',
    });
  }
  return providers;
}

function providerOf(
  facts: ClashFacts,
  delays: DelayHistory,
  name: string,
  targets: readonly string[],
): Omit<ClashProvider, 'vehicleType'> {
  const proxies = targets
    .map((target) => ({
      name: facts.names.target(target),
      named: { kind: 'target', name: target } as const,
    }))
    .filter(({ name: shown, named }) => facts.names.find(shown) && !isGroup(facts, named))
    .map(({ name: shown, named }) => clashProxy(facts, delays, shown, named));
  return { name, type: 'Proxy', proxies, testUrl: TEST_URL, expectedStatus: '*' };
}

function freshness({
  updated,
  userinfo,
}: ClashSubscription): Pick<ClashProvider, 'updatedAt' | 'subscriptionInfo'> {
  return {
    ...(updated !== undefined && { updatedAt: new Date(updated).toISOString() }),
    ...(userinfo && {
      subscriptionInfo: {
        Upload: userinfo.upload ?? 0,
        Download: userinfo.download ?? 0,
        Total: userinfo.total ?? 0,
        Expire: userinfo.expire ?? 0,
      },
    }),
  };
}
