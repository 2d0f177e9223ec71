import type { ClientTls, ServerTls, TlsEvents, TlsHandshake } from '@weir/quic';
import {
  isCipherSuite,
  type CipherSuite,
} from '../../../packages/quic/src/protection/packet-keys.ts';

/** A secret of a level and direction, as one side has it. */
export interface Secret {
  readonly suite: CipherSuite;
  readonly bytes: Uint8Array;
}

/**
 * TLS of one side that shows its secrets to a test, by level and direction such as `handshake write`, and
 * may send other transport parameters than its connection wants to. The TLS below it is not disposed of.
 */
export class OpenTls implements ClientTls, ServerTls {
  readonly secrets = new Map<string, Secret>();
  readonly #tls: ClientTls | ServerTls;
  readonly #change: (parameters: Uint8Array) => Uint8Array;

  constructor(
    tls: ClientTls | ServerTls,
    change: (parameters: Uint8Array) => Uint8Array = (same) => same,
  ) {
    this.#tls = tls;
    this.#change = change;
  }

  createHandshake(events: TlsEvents): TlsHandshake {
    const handshake = this.#tls.createHandshake({
      ...events,
      onSecret: (level, direction, suite, secret) => {
        if (isCipherSuite(suite)) {
          this.secrets.set(`${level} ${direction}`, { suite, bytes: Uint8Array.from(secret) });
        }
        events.onSecret(level, direction, suite, secret);
      },
    });
    const set = handshake.setTransportParameters.bind(handshake);
    handshake.setTransportParameters = (bytes) => set(this.#change(bytes));
    return handshake;
  }

  [Symbol.dispose](): void {}
}
