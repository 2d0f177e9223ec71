import { statSync } from 'node:fs';

/**
 * Returns the number of descriptors that this process has open; 0 if unknown. Since Linux 6.2 the size of this
 * directory is their number: reading it costs some 10 ms with 16,000 of them, its size nothing.
 */
export function openDescriptors(): number {
  return statSync('/proc/self/fd', { throwIfNoEntry: false })?.size ?? 0;
}
