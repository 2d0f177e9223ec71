import type { Opener } from '@weir/crypto/aead';
import type { Packet, ReplyPath } from '@weir/io/links';
import type { DatagramServer, DatagramSessions } from '../../contract.ts';
import {
  type AssociationEntry,
  AssociationTable,
  type DatagramServerDeps,
  type ResponseSealer,
} from '../client-associations.ts';
import type { KeyedUser } from '../shadowsocks-users.ts';
import { DatagramSealer, hasSeparateHeader, SESSION_HEADER, SESSION_ID } from './datagrams.ts';
import { EndedSessions, openMerged, ReceivingSession, sessionOpener } from './receiving-session.ts';
import { BlockCipher, xor } from './identity.ts';

/** A datagram whose header has identified user and session. */
interface IdentifiedDatagram {
  readonly user: KeyedUser;
  /** Session id and packet id. */
  readonly header: Buffer;
  /** The sealed body; `undefined` in the construction without a separate header. */
  readonly sealed: Uint8Array | undefined;
}

/** The datagram server of a SIP022 inbound: one association for each session of a client. */
export class DatagramServer2022 implements DatagramServer {
  readonly #deps: DatagramServerDeps;
  readonly #associations: AssociationTable<ReceivingSession>;
  readonly #ended: EndedSessions;
  readonly #cipher: BlockCipher | undefined;
  /** The opener of all sessions, if sessions have no key of their own. */
  readonly #shared: Opener | undefined;

  constructor(deps: DatagramServerDeps, sessions: DatagramSessions) {
    this.#deps = deps;
    const { clock, memory } = deps.context;
    this.#ended = memory.recall(
      'Shadowsocks 2022 ended sessions',
      EndedSessions,
      () => new EndedSessions(clock),
    );
    this.#associations = new AssociationTable(deps, sessions, deps.users.all.length);
    const { method, all, identityCipher } = deps.users;
    const [single] = all;
    if (!single) return; // an inbound has at least one user
    if (hasSeparateHeader(method)) this.#cipher = identityCipher ?? new BlockCipher(single.key);
    else this.#shared = sessionOpener(method, single.key, single.key);
  }

  receive({ data, peer }: Packet, replyPath: ReplyPath, known: boolean): boolean {
    const datagram = this.#cipher ? this.#readSeparate(this.#cipher, data) : this.#readMerged(data);
    if (!datagram) return false;
    const { header, user } = datagram;
    const key = `${user.index} ${header.toString('latin1', 0, SESSION_ID)}`;
    const entry = this.#associations.find(key);
    if (entry) {
      const packet = this.#open(datagram, entry.state);
      if (packet) entry.association.deliver(packet, data.length, peer, replyPath);
      return true;
    }
    if (known) return false;
    const session = this.#newSession(datagram);
    const packet = this.#open(datagram, session);
    if (!packet) {
      session[Symbol.dispose]();
      return false;
    }
    const { association } = this.#associate(key, datagram, peer, session);
    association.deliver(packet, data.length, peer, replyPath);
    return true;
  }

  #readSeparate(cipher: BlockCipher, data: Uint8Array): IdentifiedDatagram | undefined {
    const { users } = this.#deps;
    const at = users.identityCipher ? 2 * SESSION_HEADER : SESSION_HEADER;
    if (data.length < at) return undefined;
    const header = cipher.decrypt(data.subarray(0, SESSION_HEADER));
    const user = users.identityCipher
      ? users.identified(
          xor(users.identityCipher.decrypt(data.subarray(SESSION_HEADER, at)), header),
        )
      : users.all[0];
    return user && { user, header, sealed: data.subarray(at) };
  }

  #readMerged(data: Uint8Array): IdentifiedDatagram | undefined {
    const [user] = this.#deps.users.all;
    const plain = this.#shared && openMerged(this.#shared, data);
    return user && plain && { user, header: plain, sealed: undefined };
  }

  #open({ header, sealed }: IdentifiedDatagram, session: ReceivingSession): Packet | undefined {
    const context = { wallMs: this.#deps.context.clock.wall(), clientSession: undefined };
    return sealed
      ? session.openSeparate(header, sealed, context)
      : session.readMerged(header, context);
  }

  /** Creates a session without an association: a new one, or one that has ended and may continue. */
  #newSession({ user, header }: IdentifiedDatagram): ReceivingSession {
    const { method } = this.#deps.users;
    const id = header.subarray(0, SESSION_ID);
    return new ReceivingSession(method, user.key, id, this.#shared, {
      past: this.#ended.find(this.#endedKey(user, header)),
      after: this.#ended.forgotten,
    });
  }

  /** Returns the key of an ended session, the same in successive handlers. */
  #endedKey(user: KeyedUser, header: Buffer): string {
    return `${this.#deps.credentialOf(user)} ${header.toString('latin1', 0, SESSION_ID)}`;
  }

  #associate(
    key: string,
    { user, header }: IdentifiedDatagram,
    peer: Packet['peer'],
    session: ReceivingSession,
  ): AssociationEntry<ReceivingSession> {
    const { users, context, random } = this.#deps;
    const endedKey = this.#endedKey(user, header);
    this.#ended.resume(endedKey);
    const id = Buffer.from(header.subarray(0, SESSION_ID));
    const deps = { method: users.method, clock: context.clock, random };
    const sealer = new DatagramSealer(deps, [user.key], id);
    const owned: ResponseSealer = {
      seal: (packet) => sealer.seal(packet),
      [Symbol.dispose]: () => {
        sealer[Symbol.dispose]();
        this.#ended.keep(endedKey, session.past);
        session[Symbol.dispose]();
      },
    };
    return this.#associations.open(key, user, peer, owned, session);
  }
}
