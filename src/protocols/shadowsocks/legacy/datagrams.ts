import {
  AEAD_SHAPES,
  createOpener,
  createSealer,
  TAG_LENGTH,
  type Opener,
  type Sealer,
} from '../../../crypto/aead.ts';
import type { RandomSource } from '../../../crypto/random-source.ts';
import type { Packet, ReplyPath } from '../../../net/link.ts';
import type { DatagramServer, DatagramSessions } from '../../contract.ts';
import type { KnownUsers } from '../../known-users.ts';
import { SearchBudget } from '../../search-budget.ts';
import { AssociationTable, type DatagramServerDeps } from '../association-table.ts';
import type { ResponseSealer } from '../client-association.ts';
import { subkeyOf } from '../keys.ts';
import type { Method } from '../methods.ts';
import { AddressMemo, decodeAddressed, type DatagramCodec } from '../packets.ts';
import { saltsOf, type SaltFilter } from '../salts.ts';
import type { User, UserTable } from '../user-table.ts';

/**
 * Datagrams of SIP004 §3: a salt, then address and data sealed under its subkey with nonce zero.
 * One context serves the datagrams of all keys.
 */
export class LegacyDatagrams implements Disposable {
  readonly #method: Method;
  readonly #random: RandomSource;
  readonly #nonce: Uint8Array;
  readonly #sealer: Sealer;
  readonly #opener: Opener;

  constructor(method: Method, random: RandomSource) {
    this.#method = method;
    this.#random = random;
    this.#nonce = new Uint8Array(AEAD_SHAPES[method.aead].nonceLength);
    this.#sealer = createSealer(method.aead, new Uint8Array(method.keyLength));
    this.#opener = createOpener(method.aead, new Uint8Array(method.keyLength));
  }

  /** Seals an encoded address and data under a new salt. */
  seal(key: Uint8Array, address: Uint8Array, data: Uint8Array): Buffer {
    const { keyLength } = this.#method;
    const plainEnd = keyLength + address.length + data.length;
    const out = Buffer.allocUnsafe(plainEnd + TAG_LENGTH);
    const salt = this.#random.bytes(keyLength);
    out.set(salt);
    out.set(address, keyLength);
    out.set(data, keyLength + address.length);
    this.#sealer.rekey(subkeyOf(this.#method, key, salt));
    this.#sealer.seal(this.#nonce, out.subarray(keyLength, plainEnd), out.subarray(keyLength));
    return out;
  }

  saltOf(datagram: Uint8Array): Uint8Array {
    return datagram.subarray(0, this.#method.keyLength);
  }

  /** Opens address and data; `undefined` when the datagram is not sealed under `key`. */
  open(key: Uint8Array, datagram: Uint8Array): Uint8Array | undefined {
    const { keyLength } = this.#method;
    const sealed = datagram.subarray(keyLength);
    if (sealed.length < TAG_LENGTH) return undefined;
    // Not in place: a search for the user opens the same datagram with several keys.
    const plain = Buffer.allocUnsafe(sealed.length - TAG_LENGTH);
    this.#opener.rekey(subkeyOf(this.#method, key, this.saltOf(datagram)));
    return this.#opener.open(this.#nonce, sealed, plain) ? plain : undefined;
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
    this.#opener[Symbol.dispose]();
  }
}

/** A client's association, which has no state: each datagram is sealed on its own. */
export class LegacyDatagramCodec implements DatagramCodec {
  readonly #datagrams: LegacyDatagrams;
  readonly #key: Uint8Array;
  readonly #address = new AddressMemo();

  constructor(method: Method, key: Uint8Array, random: RandomSource) {
    this.#datagrams = new LegacyDatagrams(method, random);
    this.#key = key;
  }

  encode({ data, peer }: Packet): Buffer | undefined {
    const address = this.#address.encode(peer);
    return address && this.#datagrams.seal(this.#key, address, data);
  }

  decode(datagram: Uint8Array): Packet | undefined {
    const plain = this.#datagrams.open(this.#key, datagram);
    return plain && decodeAddressed(plain);
  }

  [Symbol.dispose](): void {
    this.#datagrams[Symbol.dispose]();
  }
}

/** The datagrams of a SIP004 inbound: one association for each address and port of a client. */
export class LegacyDatagramServer implements DatagramServer {
  readonly #users: UserTable;
  readonly #known: KnownUsers<User>;
  readonly #datagrams: LegacyDatagrams;
  readonly #salts: SaltFilter;
  /** Of our responses: reflected to us, they would pass for requests. */
  readonly #ownSalts: SaltFilter;
  readonly #associations: AssociationTable<undefined>;
  readonly #budget: SearchBudget;

  constructor(
    { users, context, random }: DatagramServerDeps,
    known: KnownUsers<User>,
    sessions: DatagramSessions,
  ) {
    this.#users = users;
    this.#known = known;
    this.#datagrams = new LegacyDatagrams(users.method, random);
    this.#salts = saltsOf(context.memory, 'datagrams');
    this.#ownSalts = saltsOf(context.memory, 'responses');
    this.#associations = new AssociationTable(context, sessions, users.all.length);
    this.#budget = context.memory.recall(
      'searches for the users of datagrams',
      SearchBudget,
      () => new SearchBudget(context.clock),
    );
  }

  receive({ data, peer }: Packet, replyPath: ReplyPath, known: boolean): boolean {
    const key = `${peer.host} ${peer.port}`;
    let entry = this.#associations.find(key);
    if (known && !entry) return false;
    const salt = this.#datagrams.saltOf(data);
    // Before any key is tried: a replay must neither cost a search, nor make its purported source
    // one that the user is known by.
    if (this.#ownSalts.has(salt) || this.#salts.has(salt)) return entry !== undefined;
    let plain: Uint8Array | undefined;
    const fits = (user: User): boolean => {
      plain = this.#datagrams.open(user.key, data);
      return plain !== undefined;
    };
    let user = entry && fits(entry.user) ? entry.user : undefined;
    if (!user && known) return false;
    user ??= this.#findUser(peer.host, fits);
    if (!user || !plain) return false;
    const packet = decodeAddressed(plain);
    if (!packet || !this.#salts.add(salt)) return entry !== undefined;
    if (!entry || entry.user !== user) {
      entry?.association.close();
      this.#known.remember(peer.host, user);
      entry = this.#associations.open(key, user, peer, this.#sealerFor(user), undefined);
    }
    entry.association.deliver(packet, data.length, peer, replyPath);
    return true;
  }

  /** A user that is not known by its source competes with all other clients for a search. */
  #findUser(source: string, fits: (user: User) => boolean): User | undefined {
    const search = (): User | undefined => this.#users.all.find(fits);
    return (
      this.#known.from(source, fits) ??
      (this.#users.all.length > 1 ? this.#budget.spend(search) : search())
    );
  }

  #sealerFor({ key }: User): ResponseSealer {
    const memo = new AddressMemo();
    return {
      seal: ({ data, peer }) => {
        const address = memo.encode(peer);
        if (!address) return undefined;
        const datagram = this.#datagrams.seal(key, address, data);
        this.#ownSalts.add(this.#datagrams.saltOf(datagram));
        return datagram;
      },
      [Symbol.dispose]: () => undefined,
    };
  }
}
