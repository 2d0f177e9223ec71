import type { Steps, Turns } from '@weir/io/time';
import type { Located } from '../schema/decoder.ts';
import type { Span, TableNode } from '../schema/node.ts';
import type { Shape } from '../schema/shape.ts';
import type { ListenSpec } from '../spec.ts';
import type {
  InboundContext,
  InboundHandler,
  Outbound,
  OutboundContext,
  SessionServer,
} from './contract.ts';

/**
 * The files that settings name, which are read before the settings are decoded: the key of a file's path is in the
 * `settings` table itself, and ends in `_file`. The contents become part of the settings, so that a changed file is a
 * change of the inbound or outbound.
 */
export interface SettingsFiles {
  /**
   * Returns the content of a file. Callers must not catch its error, which has the place of the path.
   *
   * @param path relative to the same directory as all paths of the configuration
   * @param failure beginning of the message when the file cannot be read, before the path and the reason: `cannot read
   * cert_file`
   */
  content(path: Located<string>, failure: string): Uint8Array;
}

/** The context in which the settings of an inbound are decoded. */
export interface InboundSettingsContext {
  readonly tag: string;
  readonly listen: ListenSpec;
  readonly files: SettingsFiles;
}

/** The context in which the settings of an outbound are decoded. */
export interface OutboundSettingsContext {
  readonly tag: string;
  /** The host of the upstream, IPv6 without brackets; `undefined` only if the protocol has no upstream. */
  readonly server: string | undefined;
  readonly port: number | undefined;
  readonly files: SettingsFiles;
}

/** A finding in valid settings that is certainly not intended. */
export interface SettingsWarning {
  readonly id: 'accounts-ignored' | 'repeated-user' | 'setting-unusable' | 'settings-ignored';
  readonly span: Span;
  /** The text after the name of the inbound or outbound. */
  readonly message: string;
}

/** Creates the client for the settings. */
export type CreateOutbound<Settings> = (settings: Settings, context: OutboundContext) => Outbound;

/** Creates the server for the settings; `turns` spread the work over its users, whose number is unlimited. */
export type CreateInbound<Settings, Server> = (
  settings: Settings,
  context: InboundContext,
  turns: Turns,
) => Server | Promise<Server>;

/** Creates servers whose table of users is built in steps; the rest is created at once. */
export const withUsers =
  <Settings, Users, Server>(
    usersOf: (settings: Settings, context: InboundContext) => Steps<Users>,
    create: (users: Users, context: InboundContext, settings: Settings) => Server,
  ): CreateInbound<Settings, Server> =>
  async (settings, context, turns) =>
    create(await turns.run(usersOf(settings, context)), context, settings);

/**
 * Members of both kinds of server sides. The code that reads settings is loaded, so that a configuration can be
 * checked; `load` imports the code that serves. `Settings` is plain data that survives `structuredClone` and JSON.
 */
interface InboundSide<Settings> {
  /** Whether a `stream` table is allowed. */
  readonly stream: boolean;
  /** The keys of the protocol's `settings` table. */
  readonly table?: { readonly shape?: Shape };
  /**
   * Decodes the `settings` table, an empty one if it is omitted, and adds defaults.
   * @throws {DecodeError} with the text after `invalid settings: `
   */
  settings(table: TableNode, context: InboundSettingsContext): Settings;
  /**
   * Returns the accounts in the settings, as plain data: reloads report changes of them separately. `undefined` without
   * authentication.
   */
  users(settings: Settings): readonly unknown[] | undefined;
  /** Whether clients need no password; `undefined` if every client needs one. */
  open?(settings: Settings): boolean;
  /** Findings in a valid table that are certainly not intended. */
  warnings?(table: TableNode): Iterable<SettingsWarning>;
  /** The certificates in the settings, PEM, leaf first; their files are `cert_file` and `key_file`. */
  certificates?(settings: Settings): string;
}

/** A server side that serves carriers; listeners and sessions belong to the supervisor. */
export interface CarrierProtocol<Settings> extends InboundSide<Settings> {
  readonly kind: 'carriers';
  /** Whether its handlers also serve datagrams on the listen address, unless it is a unix socket. */
  readonly datagrams?: boolean;
  readonly load: () => Promise<CreateInbound<Settings, InboundHandler>>;
}

/** A server side that listens itself and owns its sessions: on a UDP port, or on a device. */
export interface SessionProtocol<Settings> extends InboundSide<Settings> {
  readonly kind: 'sessions';
  /** The kind of resource that is listened on; a device has neither `listen` nor `port`. */
  readonly listens: 'udp' | 'device';
  /**
   * Returns the reason why `after` cannot replace `before` while sessions are live, as words before "which would end
   * its live connections"; `undefined` when it can.
   */
  restartReason(before: Settings, after: Settings): string | undefined;
  /**
   * Imports the code that serves. The created server is complete but for binding; the creation throws the reason why it
   * fails.
   */
  readonly load: () => Promise<CreateInbound<Settings, SessionServer>>;
}

/** The server side of a protocol. */
export type InboundProtocol<Settings> = CarrierProtocol<Settings> | SessionProtocol<Settings>;

/** The client side of a protocol. `Settings` is plain data that survives `structuredClone` and JSON. */
export interface OutboundProtocol<Settings> {
  readonly stream: boolean;
  /** The keys of the protocol's `settings` table; `undefined` if the table is not read. */
  readonly table?: { readonly shape?: Shape };
  /** Whether `server` and `port` are required. */
  readonly upstream: boolean;
  /**
   * Decodes the `settings` table, an empty one if it is omitted, and adds defaults.
   * @throws {DecodeError} with the text after `invalid settings: `
   */
  settings(table: TableNode, context: OutboundSettingsContext): Settings;
  warnings?(table: TableNode): Iterable<SettingsWarning>;
  /** Imports the code that dials. */
  readonly load: () => Promise<CreateOutbound<Settings>>;
}

/** One protocol; the registry has its names. */
export interface Protocol {
  readonly inbound: InboundProtocol<unknown> | undefined;
  readonly outbound: OutboundProtocol<unknown> | undefined;
}

/**
 * Gives protocols with different settings one type.
 *
 * Only here is the type of settings erased: a Spec has the name of the protocol next to the settings, so the
 * result of `settings` is passed to the same protocol.
 */
export const defineProtocol = <In = never, Out = never>({
  inbound,
  outbound,
}: {
  readonly inbound?: InboundProtocol<In>;
  readonly outbound?: OutboundProtocol<Out>;
}): Protocol => ({
  inbound: inbound as InboundProtocol<unknown> | undefined,
  outbound: outbound as OutboundProtocol<unknown> | undefined,
});
