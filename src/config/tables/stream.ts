import { bool, located, str } from '../../schema/decoder.ts';
import { optional, struct, type Output } from '../../schema/struct.ts';
import type { ListenSpec } from '../../spec.ts';
import { Finding } from '../findings.ts';
import { notYet } from '../not-yet.ts';

const tlsTable = struct({
  serverName: optional(str),
  allowInsecure: optional(bool),
  caFile: optional(str),
  certFile: optional(str),
  keyFile: optional(str),
});

const wsTable = struct({ path: optional(str), host: optional(str) });

const grpcTable = struct({ serviceName: optional(str), authority: optional(str) });

/** `[inbound.stream]` and `[outbound.stream]` as written. */
export const streamTable = struct({
  network: optional(located(str)),
  security: optional(located(str)),
  tls: optional(tlsTable),
  ws: optional(wsTable),
  grpc: optional(grpcTable),
});
export type StreamTable = Output<typeof streamTable>;

/** The owner of a stream table, as far as the rules of streams depend on it. */
export interface StreamOwner {
  /** As the file writes it. */
  readonly protocol: string;
  readonly takesStream: boolean;
  /** Where an inbound listens; `undefined` for an outbound. */
  readonly listen?: ListenSpec | undefined;
}

const NETWORKS: ReadonlySet<string> = new Set(['tcp', 'tls', 'ws', 'grpc']);

/** Checks a stream table. Plain TCP is all that is left to lower it to. @throws {Finding} */
export function checkStream(table: StreamTable | undefined, owner: StreamOwner): void {
  if (!table) return;
  const { network, security } = table;
  const noStream = streamRefusal(owner);

  // Where there is no stream to choose, an empty network is as good as none.
  const emptyIsTcp = noStream !== undefined && network?.value === '';
  if (network && !emptyIsTcp) {
    if (!NETWORKS.has(network.value)) throw new Finding('unknown stream network', network.span);
    if (network.value !== 'tcp') {
      if (noStream) throw new Finding(`${noStream}, so network must be tcp`, network.span);
      throw notYet(`stream network ${network.value}`, network.span);
    }
  }

  const layer = security?.value.trim() ?? '';
  if (!security || layer === '' || layer === 'none') return;
  if (layer !== 'tls') {
    const message = `unknown stream security ${security.value} (expected tls or none)`;
    throw new Finding(message, security.span);
  }
  if (noStream) throw new Finding(`${noStream}, so security must be none`, security.span);
  const message =
    'stream security tls needs network ws or grpc; write network = "tls" for TLS itself';
  throw new Finding(message, security.span);
}

/** Why the owner has plain TCP below it and nothing else. */
function streamRefusal({ protocol, takesStream, listen }: StreamOwner): string | undefined {
  if (!takesStream) return `protocol ${protocol} takes no stream`;
  if (listen && listen.kind !== 'ip') return 'a stream needs listen to be an IP address';
  return undefined;
}
