import { asError } from '@weir/base';
import { addressOf, NativeError, registerCallback } from '../native.ts';
import { type NativeMemory, nativeMemory, putWord64 } from '../native-memory.ts';
import { type Address, openQuicTlsFunctions, type QuicTlsFunctions } from './quic-tls-functions.ts';

/** Application-Layer Protocol Negotiation (RFC 7301). */

/**
 * Chooses one of the protocols that a client offers; `undefined` rejects the client. Not called for
 * a client that offers none.
 */
export type AlpnChoice = (offered: readonly string[]) => string | undefined;

/** Encodes a list of protocols, each prefixed by its length (§3.1). */
export const encodeProtocols = (protocols: readonly string[]): Buffer =>
  Buffer.concat(
    protocols.map((name) => Buffer.concat([Buffer.of(name.length), Buffer.from(name, 'latin1')])),
  );

/** Decodes a list of protocols; `positions` are the offsets of the names. */
export function decodeProtocols(list: Buffer): { names: string[]; positions: number[] } {
  const names: string[] = [];
  const positions: number[] = [];
  for (let at = 0; at < list.length; at += 1 + (list[at] ?? 0)) {
    positions.push(at + 1);
    names.push(list.toString('latin1', at + 1, at + 1 + (list[at] ?? 0)));
  }
  return { names, positions };
}

/** Levels of openssl/core_dispatch.h, `OSSL_RECORD_PROTECTION_LEVEL_`. */
export const ProtectionLevel = { NONE: 0, EARLY: 1, HANDSHAKE: 2, APPLICATION: 3 } as const;

/** The most input bytes that are passed to OpenSSL at once. */
export const INPUT_PIECE = 0x4000;

/**
 * Callbacks of OpenSSL for one connection. They are called inside a function of OpenSSL, so an
 * implementation must only record events. Returning false makes that function fail.
 */
export interface QuicTlsWork {
  /** Identifies the connection in callbacks; never an address. */
  readonly number: number;
  produce(bytes: Uint8Array): boolean;
  secret(level: number, isWrite: boolean, secret: Uint8Array): boolean;
  peerParameters(bytes: Uint8Array): boolean;
  alert(code: number): boolean;
  /** Chooses the application protocol of a server's connection. */
  chooseProtocol(offered: readonly string[]): string | undefined;
}

/** Constants `OSSL_FUNC_SSL_QUIC_TLS_` of openssl/core_dispatch.h. */
const CRYPTO_SEND = 2001;
const CRYPTO_RECEIVE = 2002;
const CRYPTO_RELEASE = 2003;
const YIELD_SECRET = 2004;
const GOT_TRANSPORT_PARAMETERS = 2005;
const ALERT = 2006;

/** `SSL_TLSEXT_ERR_OK` and `SSL_TLSEXT_ERR_ALERT_FATAL` of openssl/tls1.h. */
const ALPN_CHOSEN = 0;
export const ALPN_REFUSED = 2;

const POINTER = 'uintptr_t';

/** Bytes of an `OSSL_DISPATCH`: a number and the address of a function. */
const ENTRY_SIZE = 16;

/** The arguments of OpenSSL's ALPN callback; `length` is that of `offered`, in bytes. */
interface AlpnCallback {
  readonly out: Address;
  readonly outLength: Address;
  readonly offered: Address;
  readonly length: number;
}

/**
 * OpenSSL's TLS for QUIC in this process: functions, callbacks, and memory shared by all
 * connections.
 */
export class QuicTlsLibrary {
  readonly functions: QuicTlsFunctions;
  /** An `OSSL_DISPATCH` table. */
  readonly callbacks: Address;
  /** The address of an OpenSSL callback that chooses a protocol by the `chooseProtocol` of the connection. */
  readonly chooseProtocol: Address;
  /** Free connections and contexts that were not disposed of. */
  readonly forgottenConnections: FinalizationRegistry<Address>;
  readonly forgottenContexts: FinalizationRegistry<Address>;
  /** Two words of 64 bits for results. */
  readonly results: NativeMemory;
  /** The memory of the table, referenced because OpenSSL keeps its address. */
  readonly #table: NativeMemory;
  readonly #noPassword: NativeMemory;
  /** OpenSSL's input, from `#inputAt` to `#inputEnd`; empty between two calls. */
  readonly #input: NativeMemory;
  #inputAt = 0;
  #inputEnd = 0;
  /** The connection on which OpenSSL is working. */
  #work: QuicTlsWork | undefined;
  /** The first exception of a callback. */
  #thrown: { readonly error: unknown } | undefined;
  #lastNumber = 0;
  /** The last result of `nameText`. */
  #name: { readonly name: string; readonly memory: NativeMemory } | undefined;

  /** Binds the functions. @throws {NativeError} if the functions are not available. */
  constructor() {
    if (process.arch !== 'x64' && process.arch !== 'arm64') {
      throw new NativeError(`TLS for QUIC needs x64 or arm64, this is ${process.arch}`);
    }
    this.functions = openQuicTlsFunctions();
    const { functions } = this;
    this.forgottenConnections = new FinalizationRegistry((tls) => functions.SSL_free(tls));
    this.forgottenContexts = new FinalizationRegistry((it) => functions.SSL_CTX_free(it));
    this.results = this.memory(16);
    this.#input = this.memory(INPUT_PIECE);
    this.#noPassword = this.memory(1);
    this.#table = this.#register();
    this.callbacks = this.#table.at;
    this.chooseProtocol = registerCallback(
      'int',
      [POINTER, POINTER, POINTER, POINTER, 'unsigned int', POINTER],
      (_tls, out = 0, outLength = 0, offered = 0, length = 0) => {
        try {
          const work = this.#work;
          return this.selectProtocol({ out, outLength, offered, length }, (names) =>
            work?.chooseProtocol(names),
          );
        } catch (error) {
          this.#thrown ??= { error };
          return ALPN_REFUSED;
        }
      },
    );
  }

  memory(size: number): NativeMemory {
    return nativeMemory(size, ({ buffer }) => addressOf(buffer));
  }

  /** Stores an address in the first result word. */
  putResult(address: Address): void {
    putWord64(this.results.words, 0, address);
  }

  /** Calls `use` with the address of a temporary C string. */
  withText<T>(value: string, use: (text: Address, length: number) => T): T {
    const bytes = Buffer.from(value);
    const memory = this.memory(bytes.length + 1);
    memory.bytes.set(bytes);
    try {
      return use(memory.at, bytes.length);
    } finally {
      // The text may be a key. This also keeps the memory alive during the call.
      bytes.fill(0);
      memory.bytes.fill(0);
    }
  }

  /**
   * Returns a name as a C string, valid until the next call. The last name is kept: most connections of
   * a process are to one server, and native memory for each of them costs as much as a system call.
   */
  nameText(name: string): Address {
    if (this.#name?.name !== name) {
      const bytes = Buffer.from(`${name}\0`);
      const memory = this.memory(bytes.length);
      memory.bytes.set(bytes);
      this.#name = { name, memory };
    }
    return this.#name.memory.at;
  }

  /** Parses the certificates of a PEM text, which the caller frees; stops at an invalid one. */
  readCertificates(pem: string): Address[] {
    const { functions } = this;
    const certificates: Address[] = [];
    this.#withBio(pem, (bio) => {
      for (;;) {
        const certificate = functions.PEM_read_bio_X509(bio, 0, 0, 0);
        if (certificate === 0) break;
        certificates.push(certificate);
      }
    });
    // The end of the text also adds an error.
    if (certificates.length > 0) functions.ERR_clear_error();
    return certificates;
  }

  /** Parses the private key of a PEM text, which the caller frees; 0 if there is none or it is encrypted. */
  readKey(pem: string): Address {
    let key = 0;
    this.#withBio(pem, (bio) => {
      // Without a password OpenSSL would prompt at the terminal; an empty one makes it fail.
      key = this.functions.PEM_read_bio_PrivateKey(bio, 0, 0, this.#noPassword.at);
    });
    return key;
  }

  #withBio(pem: string, use: (bio: Address) => void): void {
    const { functions } = this;
    functions.ERR_clear_error();
    this.withText(pem, (text, length) => {
      const bio = functions.BIO_new_mem_buf(text, length);
      if (bio === 0) throw new NativeError('OpenSSL is out of memory');
      try {
        use(bio);
      } finally {
        functions.BIO_free(bio);
      }
    });
  }

  /** Returns a unique number for a connection. */
  nextNumber(): number {
    return ++this.#lastNumber;
  }

  /**
   * Runs OpenSSL on a connection, with up to `INPUT_PIECE` bytes of input.
   * @param step calls OpenSSL; returns false to stop. Repeated while OpenSSL consumes input.
   * @returns whether OpenSSL has consumed all input.
   * @throws the exception of a callback, if any.
   */
  run(work: QuicTlsWork, input: Uint8Array | undefined, step: () => boolean): boolean {
    if (this.#work !== undefined) throw new NativeError('TLS is at work on another connection');
    this.#work = work;
    this.#thrown = undefined;
    this.#inputAt = 0;
    this.#inputEnd = input?.length ?? 0;
    if (input) this.#input.bytes.set(input);
    try {
      let before;
      do {
        before = this.#inputAt;
        if (!step()) break;
      } while (this.#inputAt < this.#inputEnd && this.#inputAt > before);
      this.#rethrow();
      return this.#inputAt === this.#inputEnd;
    } finally {
      this.#work = undefined;
      this.#inputAt = this.#inputEnd = 0;
      // The memory is shared: clears the input of this connection.
      if (input) this.#input.bytes.fill(0, 0, input.length);
    }
  }

  #rethrow(): void {
    if (this.#thrown) throw asError(this.#thrown.error);
  }

  /**
   * Returns the reason of the first error in the thread's queue, in OpenSSL's words, and clears the
   * queue.
   */
  takeError(): string | undefined {
    const code = this.functions.ERR_get_error();
    this.functions.ERR_clear_error();
    return code === 0 ? undefined : (this.functions.ERR_reason_error_string(code) ?? undefined);
  }

  #register(): NativeMemory {
    const entries: readonly [number, Address][] = [
      [
        CRYPTO_SEND,
        this.#callback([POINTER, 'size_t', POINTER], (work, from, length, consumed) => {
          if (!work.produce(this.#copy(from, length))) return false;
          putWord64(this.results.words, 0, length);
          this.functions.memcpy(consumed, this.results.at, 8);
          return true;
        }),
      ],
      [
        CRYPTO_RECEIVE,
        this.#callback([POINTER, POINTER], (_, out, outLength) => {
          const { words, at } = this.results;
          const length = this.#inputEnd - this.#inputAt;
          putWord64(words, 0, length === 0 ? 0 : this.#input.at + this.#inputAt);
          putWord64(words, 2, length);
          this.functions.memcpy(out, at, 8);
          this.functions.memcpy(outLength, at + 8, 8);
          return true;
        }),
      ],
      [
        CRYPTO_RELEASE,
        this.#callback(['size_t'], (_, length) => {
          if (length > this.#inputEnd - this.#inputAt) return false;
          this.#inputAt += length;
          return true;
        }),
      ],
      [
        YIELD_SECRET,
        this.#callback(['uint32_t', 'int', POINTER, 'size_t'], (work, level, way, from, length) =>
          work.secret(level, way !== 0, this.#copy(from, length)),
        ),
      ],
      [
        GOT_TRANSPORT_PARAMETERS,
        this.#callback([POINTER, 'size_t'], (work, from, length) =>
          work.peerParameters(this.#copy(from, length)),
        ),
      ],
      [ALERT, this.#callback(['unsigned char'], (work, code) => work.alert(code))],
    ];
    const table = this.memory((entries.length + 1) * ENTRY_SIZE);
    for (const [index, [id, address]] of entries.entries()) {
      const at = (index * ENTRY_SIZE) / 4;
      table.words[at] = id;
      putWord64(table.words, at + 2, address);
    }
    return table;
  }

  /** Registers a callback whose first argument is the connection and whose last is its number. */
  #callback(
    parameters: readonly string[],
    implementation: (work: QuicTlsWork, ...values: [number, number, number, number]) => boolean,
  ): Address {
    return registerCallback('int', [POINTER, ...parameters, POINTER], (_tls, ...values) => {
      try {
        const number = values.pop();
        const work = this.#work;
        if (work === undefined || work.number !== number) return 0;
        const [a = 0, b = 0, c = 0, d = 0] = values;
        return implementation(work, a, b, c, d) ? 1 : 0;
      } catch (error) {
        this.#thrown ??= { error };
        return 0;
      }
    });
  }

  /**
   * Implements `SSL_CTX_alpn_select_cb_func`: stores one of the offered protocols into the results of the
   * callback, or rejects the client.
   *
   * @returns the result of the callback.
   */
  selectProtocol(
    { out, outLength, offered, length }: AlpnCallback,
    choose: AlpnChoice | undefined,
  ): number {
    const { names, positions } = decodeProtocols(Buffer.from(this.#copy(offered, length).buffer));
    const chosen = choose?.(names);
    const position = chosen === undefined ? undefined : positions[names.indexOf(chosen)];
    if (chosen === undefined || position === undefined) return ALPN_REFUSED;
    const { words, at: results } = this.results;
    putWord64(words, 0, offered + position);
    putWord64(words, 2, chosen.length);
    this.functions.memcpy(out, results, 8);
    this.functions.memcpy(outLength, results + 8, 1);
    return ALPN_CHOSEN;
  }

  #copy(from: Address, length: number): Uint8Array<ArrayBuffer> {
    const copy = new Uint8Array(length);
    if (length > 0) this.functions.copyOut(copy, from, length);
    return copy;
  }
}
