import { messageOf } from '@weir/base';
import { NativeError } from '../native.ts';
import { QuicTls } from './quic-tls.ts';
import { QuicTlsContext } from './quic-tls-context.ts';
import { QuicTlsLibrary } from './quic-tls-library.ts';

/** Whether this Node supports TLS for QUIC, and if not, the reason. */
type QuicTlsProbe =
  | { readonly kind: 'available'; readonly library: QuicTlsLibrary }
  | { readonly kind: 'unavailable'; readonly reason: string };

let known: QuicTlsProbe | undefined;

/** Returns the result of the probe, made once per process; never throws. Loads koffi, about 20 ms. */
export const quicTls = (): QuicTlsProbe => (known ??= probeQuicTls(() => new QuicTlsLibrary()));

/** Probes this Node. @param open opens the library; replaced by tests. */
export function probeQuicTls(open: () => QuicTlsLibrary): QuicTlsProbe {
  try {
    const library = open();
    tryClientHello(library);
    return { kind: 'available', library };
  } catch (error) {
    const reason = `${messageOf(error)} (OpenSSL ${process.versions.openssl ?? 'missing'})`;
    return { kind: 'unavailable', reason };
  }
}

/** Verifies functions and layouts by a ClientHello that carries transport parameters. */
function tryClientHello(library: QuicTlsLibrary): void {
  const marker = Buffer.from('weir-probe');
  const made: Uint8Array[] = [];
  using context = QuicTlsContext.client(library, { trust: undefined, protocols: ['h3'] });
  using tls = new QuicTls(context, undefined, {
    onCryptoData: (level, bytes) => {
      if (level === 'initial') made.push(bytes);
    },
    onSecret: () => undefined,
    onPeerParameters: () => undefined,
    onAlert: () => undefined,
    onViolation: () => undefined,
    onComplete: () => undefined,
  });
  tls.setTransportParameters(marker);
  tls.start();
  if (tls.failure !== undefined) throw new NativeError(tls.failure);
  if (!Buffer.concat(made).includes(marker)) throw new NativeError('TLS makes no ClientHello');
}

/**
 * Returns the reason why this Node does not support TLS for QUIC; `undefined` when it does. Takes 20 ms the first time.
 */
export function quicTlsUnavailable(): string | undefined {
  const probe = quicTls();
  return probe.kind === 'unavailable' ? probe.reason : undefined;
}
