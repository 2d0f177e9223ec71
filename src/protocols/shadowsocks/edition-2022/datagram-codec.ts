import type { Opener } from '../../../crypto/aead/aead.ts';
import { ReplayWindow } from '../../../crypto/replay/replay-window.ts';
import type { Packet } from '../../../net/links/link.ts';
import type { DatagramCodec } from '../packets.ts';
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
import { BlockCipher } from './identity.ts';
import type { SealingDeps } from './stream.ts';

/** A session of the server, in which it sends responses. */
interface ServerSession {
  readonly id: Buffer;
  readonly opener: Opener;
  readonly window: ReplayWindow;
  lastSeen: number;
}

/** A third session is accepted once the old one has been silent for this long (§3.2.4). */
const OLD_SESSION_MS = 60_000;

/** A client's association with a server of SIP022. */
export class DatagramCodec2022 implements DatagramCodec {
  readonly #deps: SealingDeps;
  readonly #key: Uint8Array;
  readonly #sealer: DatagramSealer;
  readonly #cipher: BlockCipher | undefined;
  /** Where sessions have no key of their own, one opener serves them all. */
  readonly #shared: Opener | undefined;
  #current: ServerSession | undefined;
  #old: ServerSession | undefined;

  constructor(deps: SealingDeps, keys: readonly Uint8Array[]) {
    const separate = hasSeparateHeader(deps.method);
    this.#deps = deps;
    this.#key = keys.at(-1) ?? new Uint8Array(0); // there is one at least
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
    this.#release(this.#current);
    this.#release(this.#old);
  }

  #decodeSeparate(cipher: BlockCipher, datagram: Uint8Array): Packet | undefined {
    if (datagram.length < SESSION_HEADER) return undefined;
    const header = cipher.decrypt(datagram.subarray(0, SESSION_HEADER));
    const known = this.#find(header);
    if (!known && !this.#acceptsNew()) return undefined;
    const session = known ?? this.#newSession(header);
    const packet = this.#accept(session, header, () => {
      const body = openBody(session.opener, header.subarray(4), datagram.subarray(SESSION_HEADER));
      return body && { body, at: 0 };
    });
    if (!known && !packet) this.#release(session);
    return packet;
  }

  #decodeMerged(datagram: Uint8Array): Packet | undefined {
    const opener = this.#shared;
    if (!opener || datagram.length < LONG_NONCE) return undefined;
    const nonce = datagram.subarray(0, LONG_NONCE);
    const body = openBody(opener, nonce, datagram.subarray(LONG_NONCE));
    if (!body || body.length < SESSION_HEADER) return undefined;
    const header = body.subarray(0, SESSION_HEADER);
    const known = this.#find(header);
    if (!known && !this.#acceptsNew()) return undefined;
    return this.#accept(known ?? this.#newSession(header), header, () => ({
      body,
      at: SESSION_HEADER,
    }));
  }

  #accept(
    session: ServerSession,
    header: Buffer,
    open: () => { readonly body: Buffer; readonly at: number } | undefined,
  ): Packet | undefined {
    const id = packetIdOf(header);
    if (id === undefined || !session.window.isNew(id)) return undefined;
    const opened = open();
    if (!opened) return undefined;
    const { clock } = this.#deps;
    const context = { wallMs: clock.wall(), clientSession: this.#sealer.session.id };
    const packet = readMessage(opened.body, opened.at, context);
    if (!packet) return undefined;
    session.window.mark(id);
    session.lastSeen = clock.now();
    if (session !== this.#current && session !== this.#old) {
      this.#release(this.#old);
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

  #acceptsNew(): boolean {
    return !this.#old || this.#deps.clock.now() - this.#old.lastSeen >= OLD_SESSION_MS;
  }

  #newSession(header: Buffer): ServerSession {
    const id = Buffer.from(header.subarray(0, SESSION_ID));
    const opener = this.#shared ?? sessionOpener(this.#deps.method, this.#key, id);
    return { id, opener, window: new ReplayWindow(REPLAY_WINDOW), lastSeen: 0 };
  }

  #release(session: ServerSession | undefined): void {
    if (session && session.opener !== this.#shared) session.opener[Symbol.dispose]();
  }
}
