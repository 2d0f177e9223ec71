import { messageOf } from '@weir/base';
import type { KeptObjects } from '@weir/base/collections';
import type { PacketTaps } from '@weir/base/ip/packet-device';
import type { Logger } from '@weir/base/log';
import type { Endpoint, FamilyPolicy, Resolver } from '@weir/io/addresses';
import type { Carrier } from '@weir/io/links';
import { chainGroup, type OwnListeners } from '@weir/io/net/own-listeners';
import type { Clock, Steps, Turns } from '@weir/io/time';
import type {
  AddressRecordType,
  DnsAnswer,
  DnsService,
  OwnedResolver,
  RawQuestion,
} from '@weir/proxy/dns';
import type { RoutingTarget, RoutingSnapshot } from '@weir/proxy/engine';
import type { CreateInbound, CreateOutbound, InboundMemory } from '@weir/proxy/protocols';
import type { Hooks } from '@weir/proxy/hooks';
import type { RegexCache } from '@weir/proxy/names';
import { type Dispatcher, type Outbound, outboundProtocol } from '@weir/proxy/protocols';
import { Router, type RouterTables } from '@weir/proxy/router';
import type { BalancerSpec, InboundSpec, OutboundSpec } from '@weir/proxy/spec';
import { BalancerGroup, type GroupMember, OutboundVersion } from '@weir/proxy/engine';
import {
  Acceptor,
  createDialer,
  dialTcp,
  loadClients,
  loadServers,
  type StreamDeps,
} from '@weir/proxy/transports';
import { ApplyError } from './reload-report.ts';

/**
 * The resolver that outbounds are built with. It delegates to the current resolver, so that a change of `[dns]`
 * does not rebuild outbounds.
 */
export class ResolverHandle implements Resolver, DnsService {
  #current: OwnedResolver;

  constructor(current: OwnedResolver) {
    this.#current = current;
  }

  resolve(
    host: string,
    policy: FamilyPolicy,
    signal?: AbortSignal,
    client?: string,
  ): Promise<readonly string[]> {
    return this.#current.resolve(host, policy, signal, client);
  }

  lookup(
    name: string,
    type: AddressRecordType,
    signal?: AbortSignal,
    client?: string,
  ): Promise<DnsAnswer> {
    return this.#current.lookup(name, type, signal, client);
  }

  forward(question: RawQuestion, signal?: AbortSignal, client?: string): Promise<Buffer> {
    return this.#current.forward(question, signal, client);
  }

  /** Replaces the resolver for new queries; pending ones are finished by the previous resolver. */
  swap(next: OwnedResolver): void {
    this.#current.close();
    this.#current = next;
  }

  /** Ends all queries. */
  destroy(): void {
    this.#current.destroy();
  }
}

/** A version of an outbound, and the spec that it was built from. */
export interface BuiltOutbound {
  readonly spec: OutboundSpec;
  readonly version: OutboundVersion;
}

export interface OutboundDeps extends BuildDeps {
  /** The resolver of outbounds: see ResolverHandle. */
  readonly resolver: Resolver;
  readonly ownListeners: OwnListeners;
  /** Objects that outbounds share across reloads. */
  readonly shared: KeptObjects;
  /** Aborts when the proxy has stopped; see `OutboundContext`. */
  readonly stopped: AbortSignal;
}

interface BuildDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Functions that create outbounds, by the name of their protocol. */
export type OutboundMakers = ReadonlyMap<string, CreateOutbound<unknown>>;

/**
 * Loads the modules that these outbounds need: their protocols and their carriers.
 * @throws {ApplyError} `build_failed`
 */
export async function loadForOutbounds(specs: readonly OutboundSpec[]): Promise<OutboundMakers> {
  const makers = new Map<string, CreateOutbound<unknown>>();
  for (const { tag, protocol, stream } of specs) {
    try {
      if (!makers.has(protocol)) makers.set(protocol, await outboundProtocol(protocol).load());
      if (stream) await loadClients(stream);
    } catch (error) {
      throw failedBuild(`outbound ${tag}`, error);
    }
  }
  return makers;
}

/** Builds one version of an outbound. @throws {ApplyError} `build_failed` */
export function buildOutbound(
  spec: OutboundSpec,
  version: number,
  makers: OutboundMakers,
  { clock, log, resolver, ownListeners, shared, stopped }: OutboundDeps,
): BuiltOutbound {
  const { tag, addressFamily: family } = spec;
  const upstream = upstreamOf(spec);
  return orFailedBuild(`outbound ${tag}`, () => {
    const dialer = upstream && createDialer(upstream, spec.stream, { resolver, family, clock });
    const create = makers.get(spec.protocol);
    if (!create) throw new RangeError(`protocol ${spec.protocol} has not been loaded`);
    const outbound = create(spec.settings, {
      tag,
      family,
      resolver,
      clock,
      log,
      ownListeners,
      shared,
      stopped,
      server: upstream,
      dial: async ({ signal, origin, observe, use, reach }) => {
        if (!dialer) throw new RangeError(`outbound ${tag} has no server to dial`);
        reach?.trying();
        const carrier = await dialer.dial({
          signal,
          preConnect: origin && ((address) => ownListeners.check(address, origin, false)),
          group: origin && chainGroup(origin),
          observe,
          use,
        });
        reach?.reached();
        return carrier;
      },
    });
    const owned: Outbound = {
      connect: (destination, options) => outbound.connect(destination, options),
      associate: (options) => outbound.associate(options),
      suspect: outbound.suspect,
      close() {
        outbound.close();
        dialer?.close();
      },
    };
    return { spec, version: new OutboundVersion(tag, version, owned) };
  });
}

/**
 * Loads the modules that an inbound needs, and builds its handler or server in turns.
 * @throws {ApplyError} `build_failed`
 */
export async function buildInbound<T>(
  { tag, settings, sniffing, listen, stream }: InboundSpec,
  side: { readonly load: () => Promise<CreateInbound<unknown, T>> },
  deps: BuildDeps & {
    readonly dispatcher: Dispatcher;
    readonly memory: InboundMemory;
    readonly capture?: PacketTaps | undefined;
    readonly hooks?: Hooks | undefined;
  },
  turns: Turns,
): Promise<T> {
  const { dispatcher, memory, clock, log, capture, hooks } = deps;
  const unixSocket = listen.kind === 'unix';
  try {
    const services = { dispatcher, memory, clock, log, capture, hooks };
    const context = { tag, sniffing, unixSocket, ...services };
    const create = await side.load();
    if (stream) await loadServers(stream);
    return await create(settings, context, turns);
  } catch (error) {
    throw failedBuild(`inbound ${tag}`, error);
  }
}

/**
 * Builds the acceptor of an inbound that has been built, which turns accepted sockets into carriers.
 * @throws {ApplyError} `build_failed`
 */
export function buildAcceptor(
  spec: InboundSpec,
  onCarrier: (carrier: Carrier) => void,
  deps: StreamDeps,
): Acceptor {
  return orFailedBuild(`inbound ${spec.tag}`, () => new Acceptor(spec.stream, onCarrier, deps));
}

/**
 * Prepares new stream settings of a running inbound; the returned function applies them.
 * @throws {ApplyError} `build_failed`
 */
export function prepareStream({ tag, stream }: InboundSpec, acceptor: Acceptor): () => void {
  return orFailedBuild(`inbound ${tag}`, () => acceptor.prepare(stream));
}

/**
 * Builds a balancer over built outbounds. It does not probe before it is started.
 * @throws {ApplyError} `bad_balancer` for a member that cannot be probed
 */
export function buildBalancer(
  spec: BalancerSpec,
  outbounds: ReadonlyMap<string, BuiltOutbound>,
  previous: BalancerGroup | undefined,
  { clock, log, resolver }: BuildDeps & { readonly resolver: Resolver },
): BalancerGroup {
  const members = spec.outbounds.map((tag): GroupMember => {
    const member = outbounds.get(tag);
    const upstream = member && upstreamOf(member.spec);
    if (!member || !upstream) {
      throw new ApplyError(
        'bad_balancer',
        `balancer ${spec.tag}: outbound ${tag} cannot be probed`,
      );
    }
    const family = member.spec.addressFamily;
    return {
      version: member.version,
      probe: async (signal) => {
        const { link } = await dialTcp(upstream, { resolver, family, clock, signal });
        link.destroy();
      },
    };
  });
  return new BalancerGroup(spec, members, previous, { clock, log });
}

/**
 * Builds the routing snapshot over built targets; compiles the patterns of the rules in turns.
 * @throws {ApplyError} `build_failed`
 */
export async function buildRoutingSnapshot(
  tables: RouterTables,
  targets: ReadonlyMap<string, RoutingTarget>,
  epoch: number,
  regexes: RegexCache,
  turns: Turns,
): Promise<RoutingSnapshot> {
  try {
    const compiled = await turns.run(regexes.compileInSteps(tables.domains.patterns));
    return { epoch, routes: new Router(tables, { regexes, compiled }), targets };
  } catch (error) {
    throw failedBuild('route', error);
  }
}

/** Returns the targets that a route may name: outbounds and balancers. */
export function* exitsOf(
  outbounds: ReadonlyMap<string, BuiltOutbound>,
  balancers: ReadonlyMap<string, BalancerGroup>,
): Steps<ReadonlyMap<string, RoutingTarget>> {
  const targets = new Map<string, RoutingTarget>(balancers);
  for (const [tag, { version }] of outbounds) {
    targets.set(tag, { pick: () => version });
    yield;
  }
  return targets;
}

const upstreamOf = ({ server, port }: OutboundSpec): Endpoint | undefined =>
  server === undefined || port === undefined ? undefined : { host: server, port };

function orFailedBuild<T>(what: string, build: () => T): T {
  try {
    return build();
  } catch (error) {
    throw failedBuild(what, error);
  }
}

const failedBuild = (what: string, cause: unknown): ApplyError =>
  new ApplyError('build_failed', `${what}: ${messageOf(cause)}`, { cause });
