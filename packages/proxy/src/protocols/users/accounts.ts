import { ChurnMap } from '@weir/base/collections';
import type { Turns } from '@weir/io/time';
import type { InboundMemory } from '../inbounds/inbound-memory.ts';

/** The accounts that an inbound accepts. The duration of `accepts` does not depend on their number. */
export interface AcceptedAccounts {
  /**
   * Whether a client with this credential would get the same account now.
   *
   * @param credential of an authenticated session, in a form of the protocol's own: not the credential that was sent,
   * but the server's record of it.
   */
  accepts(credential: string): boolean;
}

/** The accounts of an inbound that was removed, or that has none. */
export const NO_ACCOUNTS: AcceptedAccounts = { accepts: () => false };

/** The user that a client's first message has authenticated. */
export interface AuthenticatedUser {
  /** Label of the user's flows; `undefined` for a user without a name. */
  readonly label: string | undefined;
  /** The UUID as 32 lower-case hex digits, where it is all that identifies a user; a secret. */
  readonly id?: string | undefined;
  /** The server's record of the sent credential, in the form that `AcceptedAccounts` expects. */
  readonly credential: string;
}

/** Returns the hex digits of a UUID that stand for its user; connecting takes 24 more. */
export const shortId = (uuid: string): string => uuid.slice(0, 8);

/** Names of users without a label, by their UUIDs as 32 lower-case hex digits. */
export type NamesById = ReadonlyMap<string, string>;

const OPEN = '';

/** The accounts, and the user of every client, of an inbound without authentication. */
export const OPEN_TO_ALL: AcceptedAccounts & AuthenticatedUser = {
  label: undefined,
  credential: OPEN,
  accepts: (credential) => credential === OPEN,
};

/** A session to be notified when it may no longer stay open without flows. */
interface Watch {
  readonly account: AccountValidity;
  readonly onLimited: () => void;
}

/** Sessions notified in one turn; most of the work of ending each follows later in that turn. */
const REPORTS_A_TURN = 32;

/**
 * The accounts of one inbound across its reloads: sessions keep the handler that they started with,
 * and check here before each new flow whether their account is still valid.
 */
export class Accounts {
  /** The accounts now accepted; `undefined` before the first configuration is in force. */
  #accepted: AcceptedAccounts | undefined;
  /**
   * Whether the inbound is draining and accepts no connections: sessions end with their last flow, so that their
   * clients reconnect to where they are accepted. A change must be followed by `endIdle`.
   */
  draining = false;
  /** Names that the configuration in force gives to users without a label; `undefined` for none. */
  names: NamesById | undefined;
  readonly #watching = new ChurnMap<Watch, true>();

  /** The accounts now accepted; `undefined` before the first configuration is in force. */
  get accepted(): AcceptedAccounts | undefined {
    return this.#accepted;
  }

  /** Replaces the accepted accounts, against which new flows are checked; must be followed by `endIdle`. */
  replace(accepted: AcceptedAccounts): void {
    this.#accepted = accepted;
  }

  /** Returns the validity of the account of a session that this user was authenticated for. */
  validityOf(user: AuthenticatedUser): AccountValidity {
    return new AccountValidity(this, user.credential, this.#nameOf(user));
  }

  #nameOf({ label, id }: AuthenticatedUser): string | undefined {
    return label ?? (id === undefined ? undefined : (this.names?.get(id) ?? shortId(id)));
  }

  /**
   * Whether the account of a credential is accepted.
   * @internal for AccountValidity
   */
  accepts(credential: string): boolean {
    return this.#accepted === undefined || this.#accepted.accepts(credential);
  }

  /**
   * Watches an account; see `AccountValidity.watch`.
   * @internal for AccountValidity
   */
  watch(account: AccountValidity, onLimited: () => void): () => void {
    const watch = { account, onLimited };
    this.#watching.set(watch, true);
    return () => void this.#watching.delete(watch);
  }

  /**
   * Notifies all sessions that may not wait for another flow, a few in each turn.
   *
   * @param onFailure called with the error of a notification; the others still follow.
   */
  async endIdle(
    turns: Pick<Turns, 'due' | 'next'>,
    onFailure: (error: unknown) => void,
  ): Promise<void> {
    let reports = 0;
    // Sessions that begin to watch meanwhile have a valid account.
    for (const { account, onLimited } of Array.from(this.#watching.keys())) {
      if (!account.mayWait) {
        try {
          onLimited();
        } catch (error) {
          onFailure(error);
        }
        reports++;
      }
      if (turns.due || reports === REPORTS_A_TURN) {
        reports = 0;
        await turns.next();
      }
    }
  }
}

/** A session's account, and its validity: whether it still exists with the credential that the session used. */
export class AccountValidity {
  /**
   * The account for which traffic is counted and limited, from the authentication on: the user's label; for users without one their
   * name in the configuration, or the first eight digits of their UUID. `undefined` for clients without an account.
   * Accounts of several inbounds with one name are one account.
   */
  readonly name: string | undefined;
  readonly #accounts: Accounts;
  readonly #credential: string;

  constructor(accounts: Accounts, credential: string, name: string | undefined) {
    this.#accounts = accounts;
    this.#credential = credential;
    this.name = name;
  }

  /** Whether the account is valid; must be checked before each new flow. Takes constant time. */
  get isValid(): boolean {
    return this.#accounts.accepts(this.#credential);
  }

  /** Whether the session may stay open without a flow: its account is valid, and its inbound is not draining. */
  get mayWait(): boolean {
    return this.isValid && !this.#accounts.draining;
  }

  /**
   * Watches for the end of `mayWait`, when a session without a flow has to end.
   *
   * @param onLimited called after every reload in which the account is not accepted, and repeatedly during a drain; the
   * callee checks whether it still has flows.
   * @returns a function that ends the watch; idempotent.
   */
  watch(onLimited: () => void): () => void {
    return this.#accounts.watch(this, onLimited);
  }
}

/** Returns the accounts of the inbound with this memory. */
export const accountsOf = (memory: InboundMemory): Accounts =>
  memory.recall('accounts', Accounts, () => new Accounts());
