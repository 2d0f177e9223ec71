import type { FlowInfo } from '../../../packages/proxy/src/tracker/flow.ts';

/** A flow to `example.com`, without a session and a user. */
export const flowInfo = (over: Partial<FlowInfo> = {}): FlowInfo => ({
  session: undefined,
  inbound: 'in',
  user: undefined,
  source: '127.0.0.1',
  destination: { network: 'tcp', host: 'example.com', port: 443 },
  sniffed: undefined,
  outbound: 'out',
  outboundVersion: 1,
  rule: undefined,
  routingEpoch: 1,
  ...over,
});
