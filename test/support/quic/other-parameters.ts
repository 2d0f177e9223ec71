import type {
  ClientTls,
  ServerTls,
  TlsEvents,
  TlsHandshake,
} from '../../../src/quic/connection/tls-handshake.ts';

/** TLS that sends other transport parameters than its connection wants to. */
export class OtherParameters implements ClientTls, ServerTls {
  readonly #tls: ClientTls | ServerTls;
  readonly #change: (parameters: Uint8Array) => Uint8Array;

  constructor(tls: ClientTls | ServerTls, change: (parameters: Uint8Array) => Uint8Array) {
    this.#tls = tls;
    this.#change = change;
  }

  createHandshake(events: TlsEvents): TlsHandshake {
    const handshake = this.#tls.createHandshake(events);
    const change = this.#change;
    return {
      setTransportParameters: (bytes) => {
        handshake.setTransportParameters(change(bytes));
      },
      start: () => {
        handshake.start();
      },
      receive: (level, bytes) => {
        handshake.receive(level, bytes);
      },
      get isComplete() {
        return handshake.isComplete;
      },
      get failure() {
        return handshake.failure;
      },
      [Symbol.dispose]: () => {
        handshake[Symbol.dispose]();
      },
    };
  }

  [Symbol.dispose](): void {
    this.#tls[Symbol.dispose]();
  }
}
