import { isIP, type Socket } from 'node:net';
import {
  checkServerIdentity,
  connect,
  type ConnectionOptions,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import type { Endpoint } from '../../net/addresses/address.ts';
import { abortedDial, toDialError } from '../../net/errors.ts';
import type { WireCounter } from '../../net/links/link.ts';
import { systemSockets } from '../../net/sockets/system-sockets.ts';

export interface TlsTarget {
  /** What is dialled. */
  readonly server: Endpoint;
  /** Sent as SNI unless it is an IP address (RFC 6066 §3), and always verified. */
  readonly name: string;
  readonly trust: SecureContext;
  /** Protocols offered; `undefined` for no ALPN at all. */
  readonly alpn?: readonly string[];
}

/**
 * Connects to a DNS server and verifies it.
 *
 * @param onWire called with what counts its bytes, before the handshake.
 * @throws {DialError} when it is not reached, or its certificate is invalid.
 */
export async function connectTls(
  target: TlsTarget,
  signal: AbortSignal,
  onWire?: (wire: WireCounter) => void,
): Promise<TLSSocket> {
  const { server, name } = target;
  const raw = await systemSockets().connectSocket(server, { signal });
  onWire?.(raw);
  // A server that has closed its side will answer no more questions.
  raw.allowHalfOpen = false;
  return new Promise((resolve, reject) => {
    const socket = connect(connectionOptions(target, raw));
    const settle = (): void => {
      signal.removeEventListener('abort', onAbort);
      socket.off('secureConnect', onSecure);
      socket.off('error', onError);
      socket.off('close', onClose);
    };
    const onSecure = (): void => {
      settle();
      resolve(socket);
    };
    const onError = (error: Error): void => {
      settle();
      socket.destroy();
      reject(toDialError(error, server));
    };
    const onClose = (): void => onError(new Error(`${name} closed during the TLS handshake`));
    const onAbort = (): void => {
      settle();
      // The handshake may still emit an error after this.
      socket.on('error', () => undefined);
      socket.destroy();
      reject(abortedDial(signal, server));
    };
    socket.on('secureConnect', onSecure);
    socket.on('error', onError);
    socket.on('close', onClose);
    // It may have aborted since the socket was connected.
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
}

/** Options of `tls.connect` that verify a server over a connection to it. */
function connectionOptions({ name, trust, alpn }: TlsTarget, socket: Socket): ConnectionOptions {
  const options: ConnectionOptions = {
    socket,
    secureContext: trust,
    // Also against NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment.
    rejectUnauthorized: true,
    // Node would verify against the dialled address when there is no SNI.
    checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate),
  };
  if (isIP(name) === 0) options.servername = name;
  if (alpn) options.ALPNProtocols = [...alpn];
  return options;
}
