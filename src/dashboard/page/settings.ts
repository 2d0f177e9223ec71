import { effect, signal, type Signal } from '@preact/signals';

/** What this browser remembers. Private windows may refuse to; then a setting lasts as long as the page. */
function remembered<T extends string>(name: string, values: readonly T[], initial: T): Signal<T> {
  const key = `weir.${name}`;
  const setting = signal<T>(values.find((value) => value === read(key)) ?? initial);
  effect(() => write(key, setting.value));
  return setting;
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // See `remembered`.
  }
}

export const THEMES = ['system', 'light', 'dark'] as const;

/** Colours: those of the system, or chosen. */
export const theme = remembered('theme', THEMES, 'system');

/** Whether single letters are keys (WCAG 2.2, 2.1.4). */
export const letterKeys = remembered('letter-keys', ['on', 'off'], 'on');

/** Applies the theme to the document, now and after each change. */
export function followTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
  });
}
