import {
  bool,
  disclosed,
  located,
  narrowed,
  str,
  table,
  u16,
  type Located,
} from '../../schema/decoder.ts';
import { emptyTable } from '../../schema/node.ts';
import { optional, struct, type Decoded } from '../../schema/struct.ts';
import { protocolNames } from '../../protocols/registry.ts';
import type { InboundSpec } from '../../spec.ts';
import { Finding, type Findings } from '../findings.ts';
import type { InputFiles } from '../sources/input-files.ts';
import { lowerListen } from './listen.ts';
import { lowerSettings, protocolSide } from './protocol-side.ts';
import { lowerInboundStream, streamTable } from './stream.ts';

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
