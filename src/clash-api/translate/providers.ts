import type { ClashProvider } from '../contract.ts';
import type { DelayHistory } from '../delays/history.ts';
import { providerName, type ClashFacts, type ClashSubscription } from './facts.ts';
import { clashProxy, isGroup, TEST_URL } from './proxies.ts';

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
