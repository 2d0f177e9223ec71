import { signal, type ReadonlySignal } from '@preact/signals';

/** Whether a media query matches, kept current from now on. */
export function followMedia(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', () => {
    matches.value = list.matches;
  });
  return matches;
}

/**
 * Whether the window is that of a phone, or at high zoom: tables become cards. The style sheets have the same width.
 */
export const narrow: ReadonlySignal<boolean> = followMedia('(width < 48rem)');

/** Whether there is room for most columns of a table. */
export const roomy: ReadonlySignal<boolean> = followMedia('(width >= 72rem)');

/** Whether there is room for all columns of Connections. */
export const wide: ReadonlySignal<boolean> = followMedia('(width >= 80rem)');
