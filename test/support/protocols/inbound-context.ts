import { silentLogger } from '../../../src/log/output.ts';
import type { Clock } from '../../../src/net/time/clock.ts';
import type { Dispatcher, InboundContext } from '../../../src/protocols/contract.ts';
import { InboundMemory } from '../../../src/protocols/inbounds/inbound-memory.ts';

/** What a handler needs that no test looks at, around its engine and its clock. */
export const inboundContext = (
  tag: string,
  { dispatcher, clock }: { readonly dispatcher: Dispatcher; readonly clock: Clock },
  changes: Partial<InboundContext> = {},
): InboundContext => ({
  tag,
  sniffing: true,
  unixSocket: false,
  dispatcher,
  memory: new InboundMemory(),
  clock,
  log: silentLogger,
  ...changes,
});
