import {
  type Decoded,
  disclosed,
  emptyTable,
  type Located,
  located,
  narrowed,
  optional,
  str,
  struct,
  table,
  u16,
} from '@weir/proxy/schema';
import type { FamilyPolicy } from '@weir/io/addresses';
import { protocolNames } from '@weir/proxy/protocols';
import type { OutboundSpec } from '@weir/proxy/spec';
import { Finding, type Findings, strayInSettings } from '../findings.ts';
import type { InputFiles } from '../sources/input-files.ts';
import { hostProblem, hostShown, parseFamilyPolicy } from '../values.ts';
import { lowerSettings, protocolSide } from './protocol-side.ts';
import { lowerOutboundStream, streamTable } from './stream.ts';

/** The keys of an outbound except its tag, which a subscribe file calls a name. */
export const outboundShape = {
  protocol: narrowed(located(str), { enum: protocolNames('outbound') }),
  server: optional(located(disclosed(str))),
  port: optional(u16),
  stream: optional(streamTable),
  addressFamily: optional(located(disclosed(str))),
  settings: optional(table),
};

/** Descriptions of the keys of `outboundShape`. */
const OUTBOUND_KEYS = {
  protocol: 'What the upstream server speaks; freedom dials directly',
  server: 'IP address or host name of the upstream server',
  port: 'Port of the upstream server',
  stream: 'The transport below the protocol',
  addressFamily:
    'auto, ipv4_only, ipv6_only, prefer_ipv4 or prefer_ipv6, for names that are resolved here',
  settings: 'Depends on the protocol',
};

/** The table `[[outbound]]` as written. */
export const outboundTable = located(
  struct(
    { tag: located(disclosed(str)), ...outboundShape },
    { tag: 'Names the outbound in logs and routes', ...OUTBOUND_KEYS },
  ),
);
export type OutboundTable = Decoded<typeof outboundTable>;

/** Lowers one outbound; `undefined` when it is invalid. */
export function lowerOutbound(
  written: OutboundTable,
  files: InputFiles,
  findings: Findings,
): OutboundSpec | undefined {
  const { value: outbound, span } = written;
  const tag = outbound.tag.value;
  const subject = `outbound ${tag}`;
  const part = findings.about(subject);

  const protocol = part.attempt(() => protocolSide(outbound.protocol, 'outbound'));
  if (!protocol) return undefined;
  const { name, side } = protocol;
  if (side.upstream) part.attempt(() => checkUpstream(written, subject));
  const addressFamily = part.attempt(() => lowerFamily(outbound.addressFamily));
  const { port, server: { value: server } = {} } = outbound;
  const owner = { protocol: outbound.protocol.value, takesStream: side.stream, server };
  const stream = lowerOutboundStream(outbound.stream, owner, { files, part });
  const node = outbound.settings ?? emptyTable(span);
  const settings = part.attempt(() =>
    lowerSettings(subject, () => side.settings(node, { tag, server, port, files })),
  );
  if (part.failed || !addressFamily) return undefined;
  return { tag, protocol: name, server, port, stream, addressFamily, settings };
}

/** Checks `server` and `port` of a protocol that requires them. */
function checkUpstream(
  { value: { server, port, settings }, span }: OutboundTable,
  subject: string,
): void {
  if (!server) {
    const other = strayInSettings(settings, 'server') ?? strayInSettings(settings, 'address');
    throw new Finding('missing server', span, { other });
  }
  const problem = hostProblem(server.value);
  if (problem !== undefined) {
    throw new Finding(`${subject}: server${hostShown(server.value)} ${problem}`, server.span);
  }
  if (port === undefined) {
    throw new Finding('missing port', span, { other: strayInSettings(settings, 'port') });
  }
}

function lowerFamily(written: Located<string> | undefined): FamilyPolicy {
  if (!written) return 'auto';
  const policy = parseFamilyPolicy(written.value);
  if (!policy) throw new Finding('invalid address_family', written.span);
  return policy;
}
