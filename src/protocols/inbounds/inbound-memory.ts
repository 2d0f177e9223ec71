import { KeptObjects } from '../../collections/kept-objects.ts';

/**
 * State of one inbound that its successive handlers share: a reload must not make a replayed
 * request acceptable.
 */
export class InboundMemory extends KeptObjects {}
