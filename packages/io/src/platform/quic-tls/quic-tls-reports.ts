import type { QuicTlsContext } from './quic-tls-context.ts';
import type { Address } from './quic-tls-functions.ts';
import { ProtectionLevel, type QuicTlsLibrary, type QuicTlsWork } from './quic-tls-library.ts';

export type QuicTlsLevel = 'initial' | 'handshake' | 'application';
export type KeyedLevel = Exclude<QuicTlsLevel, 'initial'>;

/** An event that is delivered after OpenSSL has returned. */
export type QuicTlsReport =
  | { readonly kind: 'data'; readonly level: QuicTlsLevel; readonly bytes: Uint8Array }
  | {
      readonly kind: 'secret';
      readonly level: KeyedLevel;
      readonly direction: 'read' | 'write';
      readonly cipherSuite: number;
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'parameters'; readonly bytes: Uint8Array }
  | { readonly kind: 'alert'; readonly code: number }
  | { readonly kind: 'violation'; readonly reason: string }
  | { readonly kind: 'complete' };

/** An alert for a violation that OpenSSL does not detect. */
interface Refusal {
  readonly alert: number;
  readonly reason: string;
}

/** Alerts (RFC 8446 §6). */
const MISSING_EXTENSION = 109;
const NO_APPLICATION_PROTOCOL = 120;

const LEVELS: Readonly<Record<number, KeyedLevel>> = {
  [ProtectionLevel.HANDSHAKE]: 'handshake',
  [ProtectionLevel.APPLICATION]: 'application',
};

/**
 * Records the callbacks of OpenSSL until its function has returned, so that event handlers may do
 * anything, and their exceptions never pass through C.
 */
export class QuicTlsReports implements QuicTlsWork {
  readonly number: number;
  readonly #library: QuicTlsLibrary;
  readonly #context: QuicTlsContext;
  readonly #tls: Address;
  #waiting: QuicTlsReport[] = [];
  #hasPeerParameters = false;
  /** The levels at which OpenSSL currently reads and writes. */
  readLevel: QuicTlsLevel = 'initial';
  #writeLevel: QuicTlsLevel = 'initial';
  /** The alert that OpenSSL wants to send. */
  alertCode: number | undefined;
  refusal: Refusal | undefined;

  constructor(context: QuicTlsContext, tls: Address) {
    this.#library = context.library;
    this.#context = context;
    this.#tls = tls;
    this.number = context.library.nextNumber();
  }

  add(report: QuicTlsReport): void {
    this.#waiting.push(report);
  }

  next(): QuicTlsReport | undefined {
    return this.#waiting.shift();
  }

  /** Drops pending reports, and clears their secrets. */
  clear(): void {
    for (const report of this.#waiting) if (report.kind === 'secret') report.bytes.fill(0);
    this.#waiting = [];
  }

  produce(bytes: Uint8Array): boolean {
    this.#waiting.push({ kind: 'data', level: this.#writeLevel, bytes });
    return true;
  }

  secret(number: number, isWrite: boolean, bytes: Uint8Array): boolean {
    const level = LEVELS[number];
    // Early data is never offered or accepted.
    if (level === undefined) return false;
    this.refusal ??= this.#findRefusal(level);
    if (this.refusal) return false;
    if (isWrite) this.#writeLevel = level;
    else this.readLevel = level;
    const { functions } = this.#library;
    const cipher =
      functions.SSL_get_current_cipher(this.#tls) || functions.SSL_get_pending_cipher(this.#tls);
    if (cipher === 0) return false;
    const cipherSuite = functions.SSL_CIPHER_get_protocol_id(cipher);
    const direction = isWrite ? 'write' : 'read';
    this.#waiting.push({ kind: 'secret', level, direction, cipherSuite, bytes });
    return true;
  }

  peerParameters(bytes: Uint8Array): boolean {
    this.#hasPeerParameters = true;
    this.#waiting.push({ kind: 'parameters', bytes });
    return true;
  }

  alert(code: number): boolean {
    this.alertCode = code;
    return true;
  }

  /** Chooses the first protocol of the server that the client offers. */
  chooseProtocol(offered: readonly string[]): string | undefined {
    return this.#context.protocols.find((protocol) => offered.includes(protocol));
  }

  /**
   * Checks extensions as QUIC requires in addition to TLS. A server has read the client's
   * extensions when its first keys are available, a client the server's when its last keys are.
   */
  #findRefusal(level: KeyedLevel): Refusal | undefined {
    if (!this.#context.isServer && level === 'handshake') return undefined;
    const { results, functions } = this.#library;
    results.words.fill(0);
    functions.SSL_get0_alpn_selected(this.#tls, results.at, results.at + 8);
    if (results.words[2] === 0) {
      // RFC 9001 §8.1.
      const reason = 'no application protocol';
      return { alert: NO_APPLICATION_PROTOCOL, reason };
    }
    // RFC 9001 §8.2.
    if (this.#hasPeerParameters) return undefined;
    return { alert: MISSING_EXTENSION, reason: 'the peer sent no transport parameters' };
  }
}
