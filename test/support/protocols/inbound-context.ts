import { silentLogger } from '@weir/base/log';
import type { Clock } from '@weir/io/time';
import { InboundMemory } from '@weir/proxy/protocols';
import type { Dispatcher, InboundContext } from '../../../packages/proxy/src/protocols/contract.ts';

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
