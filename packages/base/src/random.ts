/** Random bytes. */
export { type RandomSource, SystemRandomSource } from './random-source.ts';
