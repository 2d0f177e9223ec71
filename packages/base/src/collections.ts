/** Collections that know nothing of what they hold. */
export { Fifo } from './collections/fifo.ts';
export { Holds } from './collections/holds.ts';
export { KeptObjects } from './collections/kept-objects.ts';
export { Listeners } from './collections/listeners.ts';
