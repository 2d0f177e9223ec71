import { effect, signal, type Signal } from '@preact/signals';

/** A setting stored in this browser. Private windows may have no storage; then it lasts as long as the page. */
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
    // There is no storage in private windows of some browsers.
  }
}

export const THEMES = ['system', 'light', 'dark'] as const;

/** The colour theme: that of the system, light or dark. */
export const theme = remembered('theme', THEMES, 'system');

/** Whether single letters act as keys (WCAG 2.2, 2.1.4). */
export const letterKeys = remembered('letter-keys', ['on', 'off'], 'on');

/** Applies the theme to the document, now and after each change. */
export function followTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
  });
}
