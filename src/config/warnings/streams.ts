import { inboundProtocol, outboundProtocol } from '../../protocols/registry.ts';
import type { Span } from '../../schema/node.ts';
import type { InboundStreamSpec, OutboundStreamSpec } from '../../spec.ts';
import type { StreamTable } from '../tables/stream.ts';
import type { Examined } from './examined.ts';
import type { WarningList } from './warning.ts';

/** Warns of tables of a stream without effect, because the connection lacks the layer that they configure. */
export function warnOfStreams({ own, spec }: Examined, list: WarningList): void {
  own.inbound.forEach(({ value: { tag, stream } }, index) => {
    const inbound = spec.inbounds[index];
    if (!inbound || !stream) return;
    const takes = inboundProtocol(inbound.protocol).stream;
    warnOfStream(`inbound ${tag.value}`, stream, { chosen: inbound.stream, takes }, list);
  });
  own.outbound.forEach(({ value: { tag, stream } }, index) => {
    const outbound = spec.outbounds[index];
    if (!outbound || !stream) return;
    const takes = outboundProtocol(outbound.protocol).stream;
    warnOfStream(`outbound ${tag.value}`, stream, { chosen: outbound.stream, takes }, list);
  });
}

interface Use {
  readonly chosen: InboundStreamSpec | OutboundStreamSpec | undefined;
  /** Whether the protocol supports streams at all. */
  readonly takes: boolean;
}

function warnOfStream(
  subject: string,
  { tls, ws, grpc }: StreamTable,
  { chosen, takes }: Use,
  list: WarningList,
): void {
  const carrier = chosen?.carrier.kind;
  const warn = (table: { readonly span: Span } | undefined, name: string, advice: string): void => {
    if (!table) return;
    const how = takes ? advice : 'the protocol takes no stream';
    list.add('stream-ignored', table.span, () => `${subject}: stream.${name} is ignored: ${how}`);
  };
  // WebSocket and gRPC without TLS still send this name as their host.
  const named =
    tls !== undefined &&
    (carrier === 'ws' || carrier === 'grpc') &&
    Object.entries(tls.value).every(([key, value]) => key === 'serverName' || value === undefined);
  if (!chosen?.tls && !named) {
    const key = carrier === undefined ? 'network = "tls"' : 'security = "tls"';
    warn(tls, 'tls', `the connection is not encrypted without ${key}`);
  }
  if (carrier !== 'ws') warn(ws, 'ws', 'network is not "ws"');
  if (carrier !== 'grpc') warn(grpc, 'grpc', 'network is not "grpc"');
}
