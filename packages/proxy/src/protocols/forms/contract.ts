import type { TableNode } from '../../schema/node.ts';
import type { Draft, Settings } from './draft.ts';
import type { ForeignObject } from './foreign-object.ts';
import type { Below, SharedAccess, SharedServer, SharedTls, SharedUser } from './shared-server.ts';

/**
 * What programs around the engine know of a protocol: how other programs write an outbound of it, and how a
 * configuration writes its users. The registry loads it on demand; a running proxy does not need it.
 *
 * Readers throw an ImportError, and writers a ShareError, for what the other side lacks.
 */
export interface ProtocolForms<Access extends SharedAccess = SharedAccess> {
  readonly link?: LinkForm<Access>;
  readonly singBox?: DocumentForm<Access>;
  readonly clash?: DocumentForm<Access>;
  readonly xray?: XrayForm<Access>;
  /** mihomo's names for the types of outbounds and inbounds in its API. */
  readonly clashApi?: {
    readonly outbound?: string;
    readonly inbound?: string;
    /** Whether an outbound carries no datagrams. */
    readonly streamsOnly?: true;
  };
  /** How an inbound writes its users. */
  readonly user?: UserForm;
  /**
   * The users of an inbound as their clients reach it, in file order.
   * @param settings those of the inbound's Spec
   * @throws {ShareError}
   */
  sharedUsers?(settings: unknown, context: SharedContext): readonly SharedUser[];
  /** The keys of `[outbound.settings]`, where they are not those of the access alone. @param tls those of TLS */
  drafted?(access: Access, tls: Settings): Settings;
  readonly generated?: GeneratedServer<Access>;
}

/** The part of an inbound's clients that its file and its carrier determine. */
export interface SharedContext extends Below {
  readonly protocol: string;
  /** The `settings` of the file: those of the Spec have no legacy Shadowsocks passwords. */
  readonly written: TableNode | undefined;
  /** Labels of users whose tables have no key for one, in the order of the users. */
  readonly labels: readonly (string | undefined)[];
}

/** An outbound in a share link. */
export interface LinkForm<Access extends SharedAccess> {
  /** The schemes that are read, in lower case. */
  readonly schemes: readonly string[];
  /** Whether a link is one to a server, for schemes that the addresses of documents have too. */
  isServer?(link: string): boolean;
  /** Reads a link. */
  read(link: string): LinkReading;
  write?(server: SharedServer<Access>): string;
  /** The behaviour of a client that does not know the parameter that pins a certificate, if there is one. */
  readonly unpinned?: string;
}

/** A draft, and the parameters of its link, of which the unread ones are reported. */
export interface LinkReading {
  readonly draft: Draft;
  readonly parameters: ForeignObject;
}

/** An outbound in a document of sing-box or mihomo. */
export interface DocumentForm<Access extends SharedAccess> {
  /** Its `type`. */
  readonly type: string;
  read(fields: ForeignObject, name: string): Draft;
  /** The keys after type, name, server and port. */
  write?(access: Access): object;
}

/** An outbound in a document of Xray. */
export interface XrayForm<Access extends SharedAccess> {
  /** Its `protocol`. */
  readonly protocol: string;
  /** @param outbound the outbound with the `settings` */
  read(settings: ForeignObject, name: string, outbound: ForeignObject): Draft;
  /** The keys after tag and protocol. */
  write?(access: Access, server: { readonly address: string; readonly port: number }): object;
}

/** How an inbound writes its users, and what an edit of the list means. */
export interface UserForm {
  /** The names of the list in `settings`. */
  readonly lists: readonly [string, ...string[]];
  /** The key of the name; `undefined` if the table has none, and the name is a comment. */
  readonly name: 'email' | 'user' | undefined;
  readonly secret: 'password' | 'pass' | 'id';
  /** Returns why the protocol cannot have a user of this name. */
  refusedName?(name: string): string | undefined;
  /** @param inbound the inbound's name in messages */
  onAdd?(
    inbound: string,
    settings: ReadonlyMap<string, string>,
    isFirst: boolean,
  ): UserEdit | undefined;
  /** `undefined`: an inbound whose last user is removed rejects every client. */
  onRemoveLast?(
    inbound: string,
    settings: ReadonlyMap<string, string>,
  ): UserEdit | 'unchanged' | undefined;
}

/** The effect of an edit of users on others than the user. */
export interface UserEdit {
  readonly message: string;
  /** A `note` goes with the edit; a `forced` edit is made only on demand, an `impossible` one never. */
  readonly kind: 'note' | 'forced' | 'impossible';
}

/** A secure server of the protocol, which `weir generate server` makes. */
export interface GeneratedServer<Access extends SharedAccess> {
  /** The port that client networks are most likely to allow. */
  readonly port: number;
  readonly network: 'TCP' | 'UDP' | 'TCP and UDP';
  access(user: string, tls: SharedTls, secrets: NewSecrets): Access;
  /** The lines of `[inbound.settings]`; secrets are of letters and digits, so that JSON is TOML. */
  settings(access: Access, context: GeneratedContext): readonly string[];
}

/** The contents of the settings of a generated inbound beside its secrets. */
export interface GeneratedContext {
  readonly user: string;
  /** The comment with the name of the user, for tables without a key for it. */
  readonly comment: string;
  /** The lines of the certificate. */
  readonly tls: string;
}

/** Makes random secrets. */
export interface NewSecrets {
  uuid(): string;
  password(): string;
  /** A path or a name that cannot be found by brute force. */
  path(): string;
  /** A key in base64. */
  key(bytes: number): string;
}

/** Gives the forms of protocols with different logins one type. */
export const defineForms = <Access extends SharedAccess>(
  forms: ProtocolForms<Access>,
): ProtocolForms => forms;
