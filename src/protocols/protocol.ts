import type { Steps } from '../net/turns.ts';
import type { TableNode } from '../schema/node.ts';
import type { ListenSpec } from '../spec.ts';
import type { InboundContext, InboundHandler, Outbound, OutboundContext } from './contract.ts';

/** What the validity of an inbound's settings may depend on. */
export interface InboundSettingsContext {
  readonly tag: string;
  readonly listen: ListenSpec;
}

/** What the validity of an outbound's settings may depend on. */
export interface OutboundSettingsContext {
  readonly tag: string;
  /** IPv6 without brackets; `undefined` only where the protocol needs no upstream. */
  readonly server: string | undefined;
  readonly port: number | undefined;
}

/** The server side of a protocol. `Settings` is plain data that survives `structuredClone`. */
export interface InboundProtocol<Settings> {
  /** Whether a `stream` may be set below it. */
  readonly stream: boolean;
  /** Whether its handlers serve datagrams on the listen address as well; not on a unix socket. */
  readonly datagrams?: boolean;
  /**
   * Decodes the `settings` table, an empty one when it is omitted, and adds defaults.
   * @throws {DecodeError} with the text that follows `invalid settings: `.
   */
  settings(table: TableNode, context: InboundSettingsContext): Settings;
  /**
   * The accounts in its settings, as plain data: a reload reports changes of them separately.
   * `undefined` without authentication.
   */
  users(settings: Settings): readonly unknown[] | undefined;
  /** In steps, since there may be any number of users. */
  create(settings: Settings, context: InboundContext): Steps<InboundHandler>;
}

/** The client side of a protocol. `Settings` is plain data that survives `structuredClone`. */
export interface OutboundProtocol<Settings> {
  readonly stream: boolean;
  /** Whether `server` and `port` are required. */
  readonly upstream: boolean;
  /** As for an inbound. */
  settings(table: TableNode, context: OutboundSettingsContext): Settings;
  create(settings: Settings, context: OutboundContext): Outbound;
}

/** One protocol, as the registry lists it. */
export interface Protocol {
  /** The name that a Spec carries. */
  readonly name: string;
  /** Other names that a file may use. */
  readonly aliases: readonly string[];
  readonly inbound: InboundProtocol<unknown> | undefined;
  readonly outbound: OutboundProtocol<unknown> | undefined;
}

/** What a protocol's folder exports to the registry. */
export interface ProtocolParts<In, Out> {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly inbound?: InboundProtocol<In>;
  readonly outbound?: OutboundProtocol<Out>;
}

/**
 * Makes protocols with different settings members of one list.
 *
 * This is the one place where the type of settings is erased: a Spec has the protocol's name beside
 * its settings, so what `settings` of a protocol returned is passed to the same protocol.
 */
export function defineProtocol<In = never, Out = never>(parts: ProtocolParts<In, Out>): Protocol {
  const { name, aliases = [], inbound, outbound } = parts;
  return {
    name,
    aliases,
    inbound: inbound && {
      ...inbound,
      users: (settings) => inbound.users(settings as In),
      create: (settings, context) => inbound.create(settings as In, context),
    },
    outbound: outbound && {
      ...outbound,
      create: (settings, context) => outbound.create(settings as Out, context),
    },
  };
}
