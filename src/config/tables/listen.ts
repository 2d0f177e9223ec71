import { ipVersion } from '../../net/addresses/address.ts';
import type { InboundProtocol } from '../../protocols/protocol.ts';
import type { Located } from '../../schema/decoder.ts';
import type { Span, TableNode } from '../../schema/node.ts';
import type { SocketListenSpec, ListenSpec } from '../../spec.ts';
import { Finding, strayInSettings } from '../findings.ts';
import { hostProblem, hostShown } from '../values/addresses.ts';

/** Loopback: listening to the network must be configured explicitly. */
const DEFAULT_LISTEN = '127.0.0.1';

/** The keys of an inbound's listen address, as written. */
interface ListenKeys {
  readonly listen: Located<string> | undefined;
  readonly port: Located<number> | undefined;
  readonly settings?: TableNode | undefined;
}

/** The inbound that listens. */
interface ListenOwner {
  /** The inbound's name in messages: `inbound <tag>`. */
  readonly subject: string;
  /** The protocol as the file writes it. */
  readonly protocol: string;
  readonly side: InboundProtocol<unknown>;
}

/** Lowers `listen` and `port` as the protocol uses them. @throws {Finding} */
export function lowerListen(keys: ListenKeys, owner: ListenOwner, span: Span): ListenSpec {
  const { subject, protocol, side } = owner;
  if (side.kind === 'carriers') return lowerSocket(keys, subject, span);
  if (side.listens === 'device') {
    const written = keys.listen ?? keys.port;
    if (!written) return { kind: 'none' };
    const key = keys.listen ? 'listen' : 'port';
    throw new Finding(`protocol ${protocol} has no address; remove ${key}`, written.span);
  }
  const listen = lowerSocket(keys, subject, span);
  if (listen.kind !== 'unix') return listen;
  const message = `protocol ${protocol} needs a UDP port, so listen must not be a unix socket`;
  throw new Finding(message, keys.listen?.span ?? span);
}

/** Lowers the address of a socket. A unix socket has no port; every other listen address needs one. */
function lowerSocket(
  { listen, port, settings }: ListenKeys,
  subject: string,
  span: Span,
): SocketListenSpec {
  const host = listen?.value ?? DEFAULT_LISTEN;
  if (host.startsWith('/')) {
    if (port) throw new Finding('a unix socket listen has no port; remove port', port.span);
    return { kind: 'unix', path: host };
  }
  if (listen) refuse(subject, listen);
  if (!port) {
    throw new Finding('port is required', span, { other: strayInSettings(settings, 'port') });
  }
  return { kind: ipVersion(host) === 0 ? 'name' : 'ip', host, port: port.value };
}

function refuse(subject: string, { value, span }: Located<string>): void {
  const problem = value.startsWith('@')
    ? 'is an abstract socket, which is not supported; a unix socket is a path that starts with /'
    : hostProblem(value);
  if (problem === undefined) return;
  throw new Finding(`${subject}: listen${hostShown(value)} ${problem}`, span);
}
