import { messageOf } from '../errors.ts';
import { OutboundVersion } from '../engine/outbound-version.ts';
import type { Exit, Plane } from '../engine/plane.ts';
import type { RegexCache } from '../engine/router/regex-set.ts';
import { Router } from '../engine/router/router.ts';
import type { Logger } from '../log/logger.ts';
import type { Clock } from '../net/clock.ts';
import type { Resolver } from '../net/resolver.ts';
import type { Dispatcher, InboundHandler } from '../protocols/contract.ts';
import { inboundProtocol, outboundProtocol } from '../protocols/registry.ts';
import type { InboundSpec, OutboundSpec, RouteSpec } from '../spec.ts';
import { dialTcp } from '../transports/dial.ts';
import { ApplyError } from './apply-error.ts';

interface BuildDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Builds one version of an outbound. @throws {ApplyError} `build_failed`. */
export function buildOutbound(
  spec: OutboundSpec,
  version: number,
  { clock, log, resolver }: BuildDeps & { readonly resolver: Resolver },
): OutboundVersion {
  const { tag, server, port, addressFamily: family } = spec;
  const upstream = server === undefined || port === undefined ? undefined : { host: server, port };
  return orFailedBuild(`outbound ${tag}`, () => {
    const outbound = outboundProtocol(spec.protocol).create(spec.settings, {
      tag,
      family,
      resolver,
      clock,
      log,
      server: upstream,
      dial: async ({ signal }) => {
        if (!upstream) throw new RangeError(`outbound ${tag} has no server to dial`);
        return dialTcp(upstream, { resolver, family, clock, signal });
      },
    });
    return new OutboundVersion(tag, version, outbound);
  });
}

/** Builds the handler of an inbound. @throws {ApplyError} `build_failed`. */
export function buildHandler(
  spec: InboundSpec,
  { clock, log, dispatcher }: BuildDeps & { readonly dispatcher: Dispatcher },
): InboundHandler {
  return orFailedBuild(`inbound ${spec.tag}`, () =>
    inboundProtocol(spec.protocol).create(spec.settings, {
      tag: spec.tag,
      sniffing: spec.sniffing,
      unixSocket: spec.listen.kind === 'unix',
      dispatcher,
      clock,
      log,
    }),
  );
}

/** Builds the routes over outbounds that are built already. @throws {ApplyError} `build_failed`. */
export function buildPlane(
  route: RouteSpec,
  outbounds: ReadonlyMap<string, OutboundVersion>,
  epoch: number,
  regexes: RegexCache,
): Plane {
  const exits = new Map<string, Exit>();
  for (const [tag, version] of outbounds) exits.set(tag, { pick: () => version });
  return orFailedBuild('route', () => ({ epoch, routes: new Router(route, { regexes }), exits }));
}

/** The accounts of an inbound: what its user set is made of. */
export const usersOf = ({ protocol, settings }: InboundSpec): unknown =>
  inboundProtocol(protocol).users(settings);

function orFailedBuild<T>(what: string, build: () => T): T {
  try {
    return build();
  } catch (error) {
    throw new ApplyError('build_failed', `${what}: ${messageOf(error)}`, { cause: error });
  }
}
