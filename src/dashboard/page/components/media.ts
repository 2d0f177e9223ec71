import { signal, type ReadonlySignal } from '@preact/signals';

/** Whether a media query holds, followed from now on. */
export function followMedia(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', () => {
    matches.value = list.matches;
  });
  return matches;
}

/** A phone, or a window at high zoom: tables are cards. The same width is in the style sheets. */
export const narrow: ReadonlySignal<boolean> = followMedia('(width < 48rem)');

/** Room for most columns of a table. */
export const roomy: ReadonlySignal<boolean> = followMedia('(width >= 72rem)');

/** Room for all columns of Connections. */
export const wide: ReadonlySignal<boolean> = followMedia('(width >= 80rem)');
