/** Many deadlines on one timer. */
export { AgedSet } from './collections/aged-set.ts';
export { DeadlineQueue, type Scheduled } from './collections/deadline-queue.ts';
export { NamedDeadlines } from './collections/named-deadlines.ts';
export { type Timed, TimerWheel } from './collections/timer-wheel.ts';
