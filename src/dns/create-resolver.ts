import type { Logger } from '../log/logger.ts';
import type { Clock } from '../net/time/clock.ts';
import type { DnsBackend } from './backend.ts';
import { CachedResolver, type OwnedResolver } from './cached-resolver.ts';
import { HostBackend } from './system/host-backend.ts';
import { HttpsExchange } from './exchanges/https-exchange.ts';
import type { DnsSpec } from '../spec.ts';
import { TlsExchange } from './exchanges/tls-exchange.ts';
import { UdpExchange } from './exchanges/udp-exchange.ts';
import { WireBackend } from './wire-backend.ts';

export interface ResolverDeps {
  readonly clock: Clock;
  /** Gets a line when the server stops responding, and when it responds again. */
  readonly log: Logger;
}

/**
 * The resolver of a configuration, with a cache. Nothing is opened before the first question, so that
 * a server that cannot be reached does not keep the process from starting.
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
      return new WireBackend(new TlsExchange({ ...spec, clock }), log);
    case 'https':
      return new WireBackend(new HttpsExchange({ ...spec, clock }), log);
    default:
      return spec satisfies never;
  }
}
