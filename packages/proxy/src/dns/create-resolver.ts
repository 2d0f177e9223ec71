import { OnDemand } from '@weir/base';
import type { Logger } from '@weir/base/log';
import type { Clock } from '@weir/io/time';
import type { DnsBackend } from './backend.ts';
import { CachedResolver, type OwnedResolver } from './cached-resolver.ts';
import { HostBackend } from './system/host-backend.ts';
import type { DnsSpec } from '../spec.ts';
import { UdpExchange } from './exchanges/udp-exchange.ts';
import { WireBackend } from './wire-backend.ts';

/** Exchanges with a server by methods that few configurations name. */
const EXCHANGES = new OnDemand('DNS exchange over', {
  tls: async () => (await import('./exchanges/tls-exchange.ts')).TlsExchange,
  https: async () => (await import('./exchanges/https-exchange.ts')).HttpsExchange,
});

/** Loads the modules that the resolver of a configuration needs. @throws {WeirError} `not_loadable` */
export const loadExchange = ({ backend }: DnsSpec): Promise<void> =>
  EXCHANGES.load(EXCHANGES.has(backend) ? [backend] : []);

export interface ResolverDeps {
  readonly clock: Clock;
  /** Logs when the server stops responding, and when it responds again. */
  readonly log: Logger;
}

/**
 * Creates the resolver of a configuration, with a cache, after `loadExchange`. No connection is opened before the first
 * question, so that an unreachable server does not keep the process from starting.
 */
export function createResolver(spec: DnsSpec, { clock, log }: ResolverDeps): OwnedResolver {
  return new CachedResolver(createBackend(spec, { clock, log }), clock);
}

function createBackend(spec: DnsSpec, { clock, log }: ResolverDeps): DnsBackend {
  switch (spec.backend) {
    case 'system':
      return new HostBackend({ clock });
    case 'udp':
      return new WireBackend(new UdpExchange([spec.server], clock), log);
    case 'tls':
      return new WireBackend(new (EXCHANGES.get('tls'))({ ...spec, clock }), log);
    case 'https':
      return new WireBackend(new (EXCHANGES.get('https'))({ ...spec, clock }), log);
    default:
      return spec satisfies never;
  }
}
