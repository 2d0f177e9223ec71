import type { Opener } from '@weir/crypto/aead';
import type { Packet } from '@weir/io/links';
import type { DatagramCodec } from '../packets.ts';
import {
  DatagramSealer,
  hasSeparateHeader,
  SESSION_HEADER,
  SESSION_ID,
  type MessageContext,
} from './datagrams.ts';
import { BlockCipher } from './identity.ts';
import { openMerged, ReceivingSession, sessionOpener } from './receiving-session.ts';
import type { SealingDeps } from './stream.ts';

/** A session of the server, in which it sends responses. */
interface ServerSession {
  readonly id: Buffer;
  readonly receiving: ReceivingSession;
  lastSeen: number;
}

/** Milliseconds that the old session must have been silent before a third session is accepted (§3.2.4). */
const OLD_SESSION_MS = 60_000;

/** The client's side of an association with a server of SIP022. */
export class DatagramCodec2022 implements DatagramCodec {
  readonly #deps: SealingDeps;
  readonly #key: Uint8Array;
  readonly #sealer: DatagramSealer;
  readonly #cipher: BlockCipher | undefined;
  /** The opener of all sessions, if sessions have no key of their own. */
  readonly #shared: Opener | undefined;
  #current: ServerSession | undefined;
  #old: ServerSession | undefined;

  constructor(deps: SealingDeps, keys: readonly Uint8Array[]) {
    const separate = hasSeparateHeader(deps.method);
    this.#deps = deps;
    this.#key = keys.at(-1) ?? new Uint8Array(0); // there is at least one
    this.#sealer = new DatagramSealer(deps, keys);
    this.#cipher = separate ? new BlockCipher(this.#key) : undefined;
    this.#shared = separate
      ? undefined
      : sessionOpener(deps.method, this.#key, this.#sealer.session.id);
  }

  encode(packet: Packet): Buffer | undefined {
    return this.#sealer.seal(packet);
  }

  decode(datagram: Uint8Array): Packet | undefined {
    return this.#cipher
      ? this.#decodeSeparate(this.#cipher, datagram)
      : this.#decodeMerged(datagram);
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
    this.#shared?.[Symbol.dispose]();
    this.#current?.receiving[Symbol.dispose]();
    this.#old?.receiving[Symbol.dispose]();
  }

  #decodeSeparate(cipher: BlockCipher, datagram: Uint8Array): Packet | undefined {
    if (datagram.length < SESSION_HEADER) return undefined;
    const header = cipher.decrypt(datagram.subarray(0, SESSION_HEADER));
    const session = this.#find(header) ?? this.#newSession(header);
    if (!session) return undefined;
    const sealed = datagram.subarray(SESSION_HEADER);
    const packet = session.receiving.openSeparate(header, sealed, this.#context);
    return this.#settled(session, packet);
  }

  #decodeMerged(datagram: Uint8Array): Packet | undefined {
    const plain = this.#shared && openMerged(this.#shared, datagram);
    if (!plain) return undefined;
    const session = this.#find(plain) ?? this.#newSession(plain);
    return session && this.#settled(session, session.receiving.readMerged(plain, this.#context));
  }

  /** The context against which responses to this client are checked. */
  get #context(): MessageContext {
    return { wallMs: this.#deps.clock.wall(), clientSession: this.#sealer.session.id };
  }

  /** Keeps a new session once its first packet was accepted; the session then replaces the old one. */
  #settled(session: ServerSession, packet: Packet | undefined): Packet | undefined {
    const isKnown = session === this.#current || session === this.#old;
    if (!packet) {
      if (!isKnown) session.receiving[Symbol.dispose]();
      return undefined;
    }
    session.lastSeen = this.#deps.clock.now();
    if (!isKnown) {
      this.#old?.receiving[Symbol.dispose]();
      this.#old = this.#current;
      this.#current = session;
    }
    return packet;
  }

  #find(header: Buffer): ServerSession | undefined {
    const id = header.subarray(0, SESSION_ID);
    if (this.#current?.id.equals(id)) return this.#current;
    return this.#old?.id.equals(id) ? this.#old : undefined;
  }

  /** Creates a session; `undefined` while the old one may still be in use. */
  #newSession(header: Buffer): ServerSession | undefined {
    const { method, clock } = this.#deps;
    if (this.#old && clock.now() - this.#old.lastSeen < OLD_SESSION_MS) return undefined;
    const id = Buffer.from(header.subarray(0, SESSION_ID));
    return {
      id,
      receiving: new ReceivingSession(method, this.#key, id, this.#shared),
      lastSeen: 0,
    };
  }
}
