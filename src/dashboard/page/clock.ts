import { signal, type ReadonlySignal } from '@preact/signals';

const TICK_MS = 1000;

const seconds = signal(Date.now());
let ahead = 0;

/** The time of the dashboard's process in Unix milliseconds, updated once a second; ages are relative to it. */
export const now: ReadonlySignal<number> = seconds;

/** Sets the dashboard's time: this browser may be on another machine with another clock. */
export function setClock(serverNow: number): void {
  ahead = serverNow - Date.now();
  seconds.value = serverNow;
}

/** Keeps `now` current while the page is visible. */
export function startClock(): void {
  const tick = () => {
    if (!document.hidden) seconds.value = Date.now() + ahead;
  };
  setInterval(tick, TICK_MS);
  document.addEventListener('visibilitychange', tick);
}
