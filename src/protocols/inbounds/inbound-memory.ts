import { KeptObjects } from '../../collections/kept-objects.ts';

/**
 * State that the handlers of one inbound keep across reloads: a reload must not make the replay of a
 * request acceptable.
 */
export class InboundMemory extends KeptObjects {}
