import {
  bool,
  type Decoded,
  disclosed,
  emptyTable,
  type Located,
  located,
  narrowed,
  optional,
  type Span,
  str,
  struct,
  table,
  type TableNode,
  u16,
} from '@weir/proxy/schema';
import { type InboundProtocol, protocolNames } from '@weir/proxy/protocols';
import type { InboundSpec, ListenSpec, SocketListenSpec } from '@weir/proxy/spec';
import { ipVersion } from '@weir/io/addresses';
import { Finding, type Findings, strayInSettings } from '../findings.ts';
import type { InputFiles } from '../sources/input-files.ts';
import { lowerSettings, protocolSide } from './protocol-side.ts';
import { lowerInboundStream, streamTable } from './stream.ts';
import { hostProblem, hostShown } from '../values.ts';

/** The table `[[inbound]]` as written. */
export const inboundTable = located(
  struct(
    {
      tag: located(disclosed(str)),
      protocol: narrowed(located(str), { enum: protocolNames('inbound') }),
      listen: optional(narrowed(located(disclosed(str)), { default: '127.0.0.1' })),
      port: optional(located(u16)),
      stream: optional(streamTable),
      // No effect; accepted because outbounds have this key.
      addressFamily: optional(disclosed(str)),
      sniffing: optional(narrowed(bool, { default: true })),
      settings: optional(table),
    },
    {
      tag: 'Names the inbound in logs and rules',
      protocol: 'What clients speak',
      listen: 'An IP address, a host name, or the path of a unix socket',
      port: '0 takes a free port',
      stream: 'The transport below the protocol',
      addressFamily: 'Has no effect',
      sniffing: 'Reads the host name from the first bytes of flows to an IP address',
      settings: 'Depends on the protocol',
    },
  ),
);
export type InboundTable = Decoded<typeof inboundTable>;

/** Lowers one inbound; `undefined` when it is invalid. */
export function lowerInbound(
  written: InboundTable,
  files: InputFiles,
  findings: Findings,
): InboundSpec | undefined {
  const { value: inbound, span } = written;
  const tag = inbound.tag.value;
  const subject = `inbound ${tag}`;
  const part = findings.about(subject);

  const protocol = part.attempt(() => inboundSide(inbound.protocol));
  if (!protocol) return undefined;
  const { name, side } = protocol;
  const listener = { subject, protocol: inbound.protocol.value, side };
  const listen = part.attempt(() => lowerListen(inbound, listener, span));
  const owner = { protocol: inbound.protocol.value, takesStream: side.stream, listen };
  const stream = lowerInboundStream(inbound.stream, owner, { files, part });
  if (!listen) return undefined;
  const node = inbound.settings ?? emptyTable(span);
  const settings = part.attempt(() =>
    lowerSettings(subject, () => side.settings(node, { tag, listen, files })),
  );
  if (part.failed) return undefined;
  return { tag, protocol: name, listen, stream, sniffing: inbound.sniffing ?? true, settings };
}

function inboundSide(written: Located<string>) {
  if (written.value !== 'wireguard') return protocolSide(written, 'inbound');
  const message = 'wireguard cannot be used as an inbound (no server implementation)';
  throw new Finding(message, written.span);
}

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
