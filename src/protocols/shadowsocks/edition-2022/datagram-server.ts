import type { Opener } from '../../../crypto/aead/aead.ts';
import { ReplayWindow } from '../../../crypto/replay/replay-window.ts';
import type { Packet, ReplyPath } from '../../../net/links/link.ts';
import type { DatagramServer, DatagramSessions } from '../../contract.ts';
import {
  AssociationTable,
  type AssociationEntry,
  type DatagramServerDeps,
} from '../association-table.ts';
import type { ResponseSealer } from '../client-association.ts';
import type { KeyedUser } from '../shadowsocks-users.ts';
import {
  DatagramSealer,
  hasSeparateHeader,
  LONG_NONCE,
  openBody,
  packetIdOf,
  readMessage,
  REPLAY_WINDOW,
  SESSION_HEADER,
  SESSION_ID,
  sessionOpener,
} from './datagrams.ts';
import { BlockCipher, xor } from './identity.ts';

/** What is kept of a client's session. */
interface ClientSession {
  readonly opener: Opener;
  readonly window: ReplayWindow;
}

/** A datagram whose header has identified user and session; its body has not been opened. */
interface IdentifiedDatagram {
  readonly user: KeyedUser;
  /** Session and packet id. */
  readonly header: Buffer;
  /** Opens the body with the opener of its session; the message begins at `at`. */
  readonly open: (opener: Opener) => { readonly body: Buffer; readonly at: number } | undefined;
}

/** The datagrams of a SIP022 inbound: one association for each session of a client. */
export class DatagramServer2022 implements DatagramServer {
  readonly #deps: DatagramServerDeps;
  readonly #associations: AssociationTable<ClientSession>;
  readonly #cipher: BlockCipher | undefined;
  /** Where sessions have no key of their own, one opener serves them all. */
  readonly #shared: Opener | undefined;

  constructor(deps: DatagramServerDeps, sessions: DatagramSessions) {
    this.#deps = deps;
    this.#associations = new AssociationTable(deps, sessions, deps.users.all.length);
    const { method, all, identityCipher } = deps.users;
    const [single] = all;
    if (!single) return; // an inbound has one user at least
    if (hasSeparateHeader(method)) this.#cipher = identityCipher ?? new BlockCipher(single.key);
    else this.#shared = sessionOpener(method, single.key, single.key);
  }

  receive({ data, peer }: Packet, replyPath: ReplyPath, known: boolean): boolean {
    const datagram = this.#cipher ? this.#readSeparate(this.#cipher, data) : this.#readMerged(data);
    if (!datagram) return false;
    const { header, user } = datagram;
    const key = `${user.index} ${header.toString('latin1', 0, SESSION_ID)}`;
    const entry = this.#associations.find(key);
    if (known && !entry) return false;
    const id = packetIdOf(header);
    const session = entry?.state ?? this.#newSession(user, header);
    const packet =
      id !== undefined && session.window.isNew(id) ? this.#open(datagram, session) : undefined;
    if (id === undefined || !packet) {
      if (!entry) this.#release(session);
      return entry !== undefined;
    }
    session.window.mark(id);
    const { association } = entry ?? this.#associate(key, datagram, peer, session);
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
    if (!user) return undefined;
    const open = (opener: Opener) => {
      const body = openBody(opener, header.subarray(4), data.subarray(at));
      return body && { body, at: 0 };
    };
    return { user, header, open };
  }

  #readMerged(data: Uint8Array): IdentifiedDatagram | undefined {
    const [user] = this.#deps.users.all;
    if (!user || !this.#shared || data.length < LONG_NONCE) return undefined;
    const nonce = data.subarray(0, LONG_NONCE);
    const body = openBody(this.#shared, nonce, data.subarray(LONG_NONCE));
    if (!body || body.length < SESSION_HEADER) return undefined;
    return {
      user,
      header: body.subarray(0, SESSION_HEADER),
      open: () => ({ body, at: SESSION_HEADER }),
    };
  }

  #open({ open }: IdentifiedDatagram, { opener }: ClientSession): Packet | undefined {
    const opened = open(opener);
    const wallMs = this.#deps.context.clock.wall();
    return opened && readMessage(opened.body, opened.at, { wallMs, clientSession: undefined });
  }

  #newSession({ key }: KeyedUser, header: Buffer): ClientSession {
    const opener =
      this.#shared ?? sessionOpener(this.#deps.users.method, key, header.subarray(0, SESSION_ID));
    return { opener, window: new ReplayWindow(REPLAY_WINDOW) };
  }

  #associate(
    key: string,
    { user, header }: IdentifiedDatagram,
    peer: Packet['peer'],
    session: ClientSession,
  ): AssociationEntry<ClientSession> {
    const { users, context, random } = this.#deps;
    const id = Buffer.from(header.subarray(0, SESSION_ID));
    const deps = { method: users.method, clock: context.clock, random };
    const sealer = new DatagramSealer(deps, [user.key], id);
    const owned: ResponseSealer = {
      seal: (packet) => sealer.seal(packet),
      [Symbol.dispose]: () => {
        sealer[Symbol.dispose]();
        this.#release(session);
      },
    };
    return this.#associations.open(key, user, peer, owned, session);
  }

  #release({ opener }: ClientSession): void {
    if (opener !== this.#shared) opener[Symbol.dispose]();
  }
}
