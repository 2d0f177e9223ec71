import { KeptObjects } from '@weir/base/collections';

/**
 * State of one inbound that its successive handlers share: a reload must not make a replayed
 * request acceptable.
 */
export class InboundMemory extends KeptObjects {}
