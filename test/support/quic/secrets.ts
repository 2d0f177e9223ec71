import type { CipherSuite } from '../../../src/quic/protection/packet-keys.ts';
import { isCipherSuite } from '../../../src/quic/protection/packet-keys.ts';
import type {
  ClientTls,
  TlsEvents,
  TlsHandshake,
} from '../../../src/quic/connection/tls-handshake.ts';
import { testClientTls } from './tls.ts';

/** A secret of a level and direction, as one side has it. */
export interface Secret {
  readonly suite: CipherSuite;
  readonly bytes: Uint8Array;
}

/** A client's TLS that shows its secrets to a test: with them the test speaks in its name. */
export class OpenClientTls implements ClientTls {
  readonly secrets = new Map<string, Secret>();
  readonly #tls = testClientTls();

  createHandshake(events: TlsEvents): TlsHandshake {
    return this.#tls.createHandshake({
      ...events,
      onSecret: (level, direction, suite, secret) => {
        if (isCipherSuite(suite)) {
          this.secrets.set(`${level} ${direction}`, { suite, bytes: Uint8Array.from(secret) });
        }
        events.onSecret(level, direction, suite, secret);
      },
    });
  }

  [Symbol.dispose](): void {
    this.#tls[Symbol.dispose]();
  }
}
