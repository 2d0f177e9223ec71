import type { Clock } from '../net/clock.ts';
import { CachedResolver, type OwnedResolver } from './cached-resolver.ts';
import { HostBackend } from './host-backend.ts';

/** The host's resolver with a cache in front: what a configuration without `[dns]` means. */
export function createSystemResolver({ clock }: { readonly clock: Clock }): OwnedResolver {
  return new CachedResolver(new HostBackend({ clock }), clock);
}
